package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

// unit is one suffix of a size. Only binary units exist: whether MB means 10^6
// or 2^20 is a question nobody should have to ask of a limit.
type unit struct {
	suffix string
	bytes  Size
}

var units = []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

var errSize = errors.New("is not a size; write bytes or use KiB, MiB, GiB, as in 5MiB")

// parseSize reads 5MiB, 64KiB, 1GiB or a plain number of bytes.
func parseSize(text string) (Size, error) {
	digits, scale := text, Size(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			digits, scale = strings.TrimSuffix(rest, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || Size(n) > math.MaxInt64/scale {
		return 0, errSize
	}
	return Size(n) * scale, nil
}

// String writes the size in the largest unit that divides it, so that parseSize reads it back.
func (s Size) String() string {
	for _, u := range units {
		if s >= u.bytes && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
