package gateway

import (
	"bufio"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
)

// What a request may name in its body.
const (
	maxBodyArgs  = 4096
	maxBodyBytes = 1 << 20
)

// readArgs makes sure that the command has its arguments. Where the address has too
// few, they may stand in the first file of a multipart body, one a line.
func (c *call) readArgs() error {
	needed := c.command.arguments
	if len(c.args) >= len(needed) || c.command.optional {
		return nil
	}
	if c.command.body {
		lines, err := c.bodyLines()
		if err != nil {
			return err
		}
		c.args = append(c.args, lines...)
	}
	if len(c.args) < len(needed) {
		return usageError(fmt.Sprintf("argument %q is required", needed[len(c.args)]))
	}
	return nil
}

// bodyLines are the lines of the first file of the body; none without one.
func (c *call) bodyLines() ([]string, error) {
	kind, params, err := mime.ParseMediaType(c.req.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") || params["boundary"] == "" {
		return nil, nil
	}
	body := io.LimitReader(&countedReader{Reader: c.req.Body, call: c}, maxBodyBytes)
	part, err := multipart.NewReader(body, params["boundary"]).NextPart()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, usageError(err.Error())
	}
	var list []string
	scanner := bufio.NewScanner(part)
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" {
			list = append(list, line)
		}
		if len(list) > maxBodyArgs {
			return nil, usageError(fmt.Sprintf("too many arguments in the body: at most %d", maxBodyArgs))
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, usageError("the arguments in the body can't be read: " + err.Error())
	}
	return list, nil
}
