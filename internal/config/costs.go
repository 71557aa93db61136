package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/spelling"
)

// costWords are the costs that are not those of a method: of every other method
// that is known, of one that is not, and of a request that is refused.
var costWords = []string{method.PriceOther, method.PriceUnknown, method.PriceRefused}

func builtinCosts() map[string]int64 {
	costs := map[string]int64{method.PriceOther: 80, method.PriceUnknown: 160, method.PriceRefused: 5}
	costs[method.EthSubscription] = method.EventCredits
	for _, row := range method.All() {
		if row.Credits > 0 {
			costs[row.Name] = row.Credits
		}
	}
	return costs
}

// maxCost is the dearest that a call can be made.
const maxCost = 1_000_000_000

var methodPattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9]{0,31}_[a-zA-Z0-9_]{1,64}$`)

// readCosts puts the costs of the file over the built-in ones.
func readCosts(l *loader, c *Config, path string, n node) {
	pairs, _ := l.pairs(path, n)
	for _, p := range pairs {
		if !methodPattern.MatchString(p.key) && !slices.Contains(costWords, p.key) {
			l.fail(l.place(p.keyNode), path, "%q is not a method%s", p.key, suggestCost(p.key))
			continue
		}
		cost := int64(0)
		text, err := scalar(p.value, kindWhole)
		if err == nil {
			err = whole(&cost, 0, maxCost).set(text)
		}
		if err != nil {
			l.fail(l.place(p.value), costPath(p.key), "%v", err)
			continue
		}
		l.src[costPath(p.key)] = l.place(p.value)
		c.Costs[p.key] = cost
	}
}

func costPath(name string) string { return "costs." + name }

func suggestCost(name string) string {
	known := slices.Concat(costWords, slices.Sorted(maps.Keys(builtinCosts())))
	if best := spelling.Nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return "; write one like " + method.EthCall + ", or " + list(costWords)
}

// dearestMethod is the name with the highest cost, the first of several.
func dearestMethod(costs map[string]int64) string {
	dearest := ""
	for _, name := range slices.Sorted(maps.Keys(costs)) {
		if dearest == "" || costs[name] > costs[dearest] {
			dearest = name
		}
	}
	return dearest
}
