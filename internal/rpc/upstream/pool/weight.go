package pool

import "math/rand/v2"

func (n *node) weight() int { return max(n.cfg.Weight, 1) }

// drawTwo draws two different nodes, each as likely as its weight says. There are two at least.
func drawTwo(list []*node) (a, b *node) {
	total := 0
	for _, n := range list {
		total += n.weight()
	}
	a = draw(list, nil, total)
	return a, draw(list, a, total-a.weight())
}

// draw is one draw from nodes that have a weight in all, but not the one that was drawn.
func draw(list []*node, but *node, total int) (n *node) {
	at := rand.IntN(total)
	for _, n = range list {
		if n == but {
			continue
		}
		if at -= n.weight(); at < 0 {
			break
		}
	}
	return n
}
