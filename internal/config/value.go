package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// kind is how a value is written in YAML.
type kind uint8

const (
	kindText kind = iota
	kindWhole
	kindSize
	kindTime
	kindFactor
	kindSwitch
	kindPercent
)

// wants completes the sentence "must be ...".
func (k kind) wants() string {
	return [...]string{
		kindText:    "text",
		kindWhole:   "a whole number such as 10",
		kindSize:    "a size such as 5MiB",
		kindTime:    "a time with its unit, such as 5s",
		kindFactor:  "a number such as 1.2",
		kindSwitch:  "true or false",
		kindPercent: "a percentage such as 20%",
	}[k]
}

// value is a place in the configuration together with what may be put there.
// The text form is the same in the file, the environment, the flags and the dump.
type value interface {
	kind() kind
	// set parses and checks the text, and stores it only if it is good. The
	// error completes the sentence that starts with the setting's name.
	set(text string) error
	String() string
	// allowed describes good values for the documentation; "" when anything is.
	allowed() string
}

// textValue is a string that keeps a rule.
type textValue struct {
	p    *string
	rule rule
}

func text(p *string, r rule) value { return textValue{p, r} }

func secret(p *Secret, r rule) value { return textValue{(*string)(p), r} }

func (textValue) kind() kind        { return kindText }
func (v textValue) String() string  { return *v.p }
func (v textValue) allowed() string { return v.rule.says }

func (v textValue) set(s string) error {
	if v.rule.check != nil {
		if err := v.rule.check(s); err != nil {
			return err
		}
	}
	*v.p = s
	return nil
}

func nodeURL(p *NodeURL, r rule) value { return textValue{(*string)(p), r} }

// switchValue is on or off.
type switchValue struct{ p *bool }

func toggle(p *bool) value { return switchValue{p} }

func (switchValue) kind() kind       { return kindSwitch }
func (v switchValue) String() string { return strconv.FormatBool(*v.p) }
func (switchValue) allowed() string  { return "true or false" }

func (v switchValue) set(s string) error {
	if s != "true" && s != "false" {
		return fmt.Errorf("%q is not known; use true or false", s)
	}
	*v.p = s == "true"
	return nil
}

// ranged is a number of some sort between two bounds.
type ranged[T cmp.Ordered] struct {
	p        *T
	min, max T
	k        kind
	parse    func(string) (T, error)
	format   func(T) string
}

func (v ranged[T]) kind() kind     { return v.k }
func (v ranged[T]) String() string { return v.format(*v.p) }

func (v ranged[T]) allowed() string {
	return v.format(v.min) + " to " + v.format(v.max)
}

func (v ranged[T]) set(s string) error {
	n, err := v.parse(s)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (n < v.min || n > v.max):
		return fmt.Errorf("%s is out of range; use %s", s, v.allowed())
	case err != nil:
		return fmt.Errorf("%q %w", s, err)
	}
	*v.p = n
	return nil
}

func whole[T int | int64 | uint64](p *T, least, most T) value {
	return ranged[T]{p, least, most, kindWhole, parseWhole[T], func(n T) string { return strconv.FormatInt(int64(n), 10) }}
}

func size(p *Size, least, most Size) value {
	return ranged[Size]{p, least, most, kindSize, parseSize, Size.String}
}

func span(p *Duration, least, most Duration) value {
	return ranged[Duration]{p, least, most, kindTime, parseSpan, formatSpan}
}

func factor(p *float64, least, most float64) value {
	return ranged[float64]{p, least, most, kindFactor, parseFactor, formatFactor}
}

func percent(p *int, least, most int) value {
	return ranged[int]{p, least, most, kindPercent, parsePercent, func(n int) string { return strconv.Itoa(n) + "%" }}
}

func parsePercent(s string) (int, error) {
	digits, ok := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return 0, errors.New("is not a percentage; write a whole number with its sign, as in 20%")
	}
	return n, nil
}

// parseWhole reads plain digits. A number that T can't hold is out of range like
// any other.
func parseWhole[T int | int64 | uint64](s string) (T, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || n < 0:
		return 0, strconv.ErrRange
	case err != nil:
		return 0, errors.New("is not a whole number; use plain digits, as in 1000")
	}
	return T(n), nil
}

func parseSpan(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errors.New("is not a time; write a number with its unit, as in 500ms, 5s or 2m")
	}
	return d, nil
}

// formatSpan drops the zero seconds and minutes that Duration.String appends.
func formatSpan(d Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

func parseFactor(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, errors.New("is not a number; write it like 1.2")
	}
	return f, nil
}

func formatFactor(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
