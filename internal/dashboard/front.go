package dashboard

import "hash/fnv"

// front is what strangers see beside a form. Networks and their names are no secret: the
// documentation has them. How they are is public only where the status page is.
type front struct {
	URL      string
	Status   bool
	Networks []frontNetwork
}

type frontNetwork struct {
	Name, Kind string
	Shown, Up  bool // Up is known and may be shown
}

// mostFront is how many networks fit beside a form.
const mostFront = 6

// frontOf is nil for who is signed in.
func frontOf(v *visit) *front {
	if v.account != nil || v.cfg.Networks == nil {
		return nil
	}
	f := &front{Status: v.cfg.Status != nil}
	f.URL, _ = v.base()
	for _, n := range v.cfg.Networks() {
		f.Networks = append(f.Networks, frontNetwork{Name: n.Name, Kind: kindOf(n)})
	}
	f.Networks = f.Networks[:min(len(f.Networks), mostFront)]
	if f.Status {
		f.states(v.cfg.Status())
	}
	return f
}

func (f *front) states(list []NetworkUp) {
	for i := range f.Networks {
		for _, now := range list {
			if now.Name == f.Networks[i].Name {
				f.Networks[i].Shown, f.Networks[i].Up = true, now.Up
			}
		}
	}
}

// kindOf says in a word or two what a network is.
func kindOf(n Network) string {
	switch {
	case n.Rollup:
		return "layer 2"
	case n.Embedded:
		return "embedded"
	}
	return "remote nodes"
}

// tints is how many colors badges have.
const tints = 6

// tint is the color of a network's badge. A name always has the same.
func tint(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it takes everything
	return h.Sum32() % tints
}
