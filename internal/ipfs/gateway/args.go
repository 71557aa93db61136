package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/nodegate/nodegate/internal/fairshare"
)

// What a request may name in its body.
const (
	maxBodyArgs  = 4096
	maxBodyBytes = 1 << 20
)

// argsInBody tells whether the address has too few arguments and the body may have them, in
// the first file of a multipart body, one a line.
func argsInBody(c *call) bool {
	return tooFewArgs(c) && c.command.body && boundary(c.req) != ""
}

func tooFewArgs(c *call) bool {
	return len(c.args) < len(c.command.arguments) && !c.command.optional
}

// missingArgs refuses a command without its arguments, where no body can have them.
func missingArgs(c *call) error {
	if !tooFewArgs(c) || argsInBody(c) {
		return nil
	}
	return needsArg(c)
}

// needsArg is the refusal of a command that has too few arguments.
func needsArg(c *call) error {
	return usageError(fmt.Sprintf("argument %q is required", c.command.arguments[len(c.args)]))
}

// boundary is that of a multipart body, or "".
func boundary(req *http.Request) string {
	kind, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return ""
	}
	return params["boundary"]
}

// readArgs reads arguments in the body. A long list of them works at low priority from here
// to its end: commands that look at each of them alone take no turns.
func readArgs(ctx context.Context, c *call) error {
	size := c.req.ContentLength
	if size < 0 || size > maxBodyBytes {
		size = maxBodyBytes
	}
	if size > smallUpload {
		fairshare.TakeTurns(ctx)
		if err := fairshare.Do(ctx, func() {}); err != nil {
			return err
		}
	}
	if err := c.hold.Grow(3 * size); err != nil { // the text, a copy while it grows, and the lines
		return err
	}
	text, readErr, err := bodyText(c, size)
	if err != nil {
		return err
	}
	var lines []string
	if turnErr := fairshare.Do(ctx, func() { lines, err = argLines(text, readErr) }); turnErr != nil {
		return turnErr
	}
	if err != nil {
		return err
	}
	c.args = append(c.args, lines...)
	if tooFewArgs(c) {
		return needsArg(c)
	}
	return nil
}

// bodyText is the first file of the body, as far as it could be read; nothing without one.
func bodyText(c *call, size int64) (text []byte, readErr, err error) {
	body := io.LimitReader(&countedReader{Reader: c.req.Body, call: c}, maxBodyBytes)
	part, err := multipart.NewReader(body, boundary(c.req)).NextPart()
	if err == io.EOF {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, usageError(err.Error())
	}
	out := bytes.NewBuffer(make([]byte, 0, size))
	_, readErr = out.ReadFrom(part)
	return out.Bytes(), readErr, nil
}

// argLines are the arguments in a text.
func argLines(text []byte, readErr error) ([]string, error) {
	var list []string
	scanner := bufio.NewScanner(bytes.NewReader(text))
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			list = append(list, line)
		}
		if len(list) > maxBodyArgs {
			return nil, usageError(fmt.Sprintf("too many arguments in the body: at most %d", maxBodyArgs))
		}
	}
	if err := cmp.Or(scanner.Err(), readErr); err != nil {
		return nil, usageError("the arguments in the body can't be read: " + err.Error())
	}
	return list, nil
}

// argWork is about what an argument costs besides the blocks that it leads to.
const argWork = 5 * time.Microsecond

// argTurn counts an argument that was worked on and takes a turn for the next one. The client
// may have to read meanwhile, so the work is not done in the turn; but who takes the next turn
// at once keeps the place of the last one.
func argTurn(ctx context.Context) error {
	fairshare.Count(ctx, argWork)
	return fairshare.Do(ctx, func() {})
}
