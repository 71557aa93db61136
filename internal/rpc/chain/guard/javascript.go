package guard

import (
	_ "embed"
	"encoding/json"
	"errors"
	"regexp"
	"slices"

	"github.com/ethereum/go-ethereum/eth/tracers"
	_ "github.com/ethereum/go-ethereum/eth/tracers/js" // runs the code of clients, where that is allowed
)

// go-ethereum evaluates a client's code, and calls its setup, before anything could stop it:
// a loop there would never end. latetracer.js is an object that evaluates the code at its
// first hook, where the guard's Stop interrupts it.
//
//go:embed latetracer.js
var lateTracer string

// codeOf is what go-ethereum gets in place of a client's code.
func codeOf(source string) string {
	quoted, _ := json.Marshal(source) // a string can always be
	return lateTracer + "(" + string(quoted) + ")"
}

// inJavaScript are the tracers of go-ethereum that are written in JavaScript, without those
// that native ones have replaced.
var inJavaScript = []string{"bigramTracer", "evmdisTracer", "opcountTracer", "trigramTracer", "unigramTracer"}

var isName = regexp.MustCompile(`^\w*$`)

// isCode reports whether a tracer is the code of one, not its name.
func isCode(tracer string) bool { return !isName.MatchString(tracer) }

// checkTracer refuses tracers that don't exist, and JavaScript where it is not allowed. A
// muxTracer names others in its settings.
func checkTracer(name string, config json.RawMessage, javascript bool) error {
	native := !tracers.DefaultDirectory.IsJS(name) && name != boundedTracer
	if !native && !(javascript && (isCode(name) || slices.Contains(inJavaScript, name))) {
		return unknownTracer(javascript)
	}
	if name != muxTracer {
		return nil
	}
	var inner map[string]json.RawMessage
	if len(config) > 0 && json.Unmarshal(config, &inner) != nil {
		return nil // the tracer itself says what is wrong
	}
	for name, config := range inner {
		if javascript && isCode(name) {
			return errMuxCode
		}
		if err := checkTracer(name, config, javascript); err != nil {
			return err
		}
	}
	return nil
}

const muxTracer = "muxTracer"

var errMuxCode = errors.New("a muxTracer takes the names of tracers: send the JavaScript code as the tracer itself")

// unknownTracer says which tracers there are.
func unknownTracer(javascript bool) error {
	const names = "unknown tracer: use callTracer, flatCallTracer, prestateTracer, 4byteTracer, muxTracer"
	if javascript {
		return errors.New(names + ", none, or the code of a JavaScript object")
	}
	return errors.New(names + " or none; JavaScript tracers are not allowed on this server")
}
