package shuffle

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// maxHead bounds the request line and headers together, in bytes. Reducers ask for 20 maps at a time, which is less
// than 2 KB.
const maxHead = 64 << 10

// maxBody bounds the skipped part of an unexpected body, in bytes.
const maxBody = 64 << 10

// request is the head of an HTTP request. It is parsed as leniently as by Netty.
type request struct {
	method, uri string
	headers     []header
	invalid     bool // not HTTP
}

type header struct{ name, value string }

// get returns the first value of a header.
func (r *request) get(name string) (string, bool) {
	for _, h := range r.headers {
		if strings.EqualFold(h.name, name) {
			return h.value, true
		}
	}
	return "", false
}

// readRequest reads a request with its body, if it has one. It returns an error if there is no further request. A
// malformed request is returned as invalid.
func readRequest(in *bufio.Reader) (*request, error) {
	left := maxHead
	line, err := readLine(in, &left)
	for err == nil && len(line) == 0 { // skip empty lines before a request
		line, err = readLine(in, &left)
	}
	if errors.Is(err, errTooLong) {
		return &request{invalid: true}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &request{}
	fields := bytes.Fields(line)
	if len(fields) != 3 || !bytes.HasPrefix(fields[2], []byte("HTTP/")) {
		r.invalid = true
		return r, nil
	}
	r.method, r.uri = string(fields[0]), string(fields[1])
	for {
		line, err := readLine(in, &left)
		if errors.Is(err, errTooLong) {
			r.invalid = true
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return r, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		r.headers = append(r.headers, header{string(bytes.TrimSpace(name)), string(bytes.TrimSpace(value))})
	}
}

var errTooLong = errors.New("request head too long")

// readLine returns a line without its end, and subtracts its length from left.
func readLine(in *bufio.Reader, left *int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return nil, errTooLong
		}
		switch {
		case err == nil && line == nil:
			return trimEOL(part), nil
		case err == nil:
			return trimEOL(append(line, part...)), nil
		case errors.Is(err, bufio.ErrBufferFull):
			line = append(line, part...)
		default:
			return nil, err
		}
	}
}

func trimEOL(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// skipBody skips a body. It returns false if no further request can follow.
func (r *request) skipBody(in *bufio.Reader) bool {
	if _, chunked := r.get("Transfer-Encoding"); chunked {
		return false
	}
	length, ok := r.get("Content-Length")
	if !ok {
		return true
	}
	n, err := strconv.ParseInt(length, 10, 64)
	if err != nil || n < 0 || n > maxBody {
		return false
	}
	_, err = io.CopyN(io.Discard, in, n)
	return err == nil
}

// query has the relevant parameters of a URI.
type query struct {
	job, reduce, keepAlive []string
	maps                   []string // nil if there is no such parameter
}

var errEscape = errors.New("bad escape sequence")

// parseQuery parses the parameters as Netty's QueryStringDecoder and Java's String.split do.
func parseQuery(uri string) (query, error) {
	var q query
	uri, _, _ = strings.Cut(uri, "#")
	_, raw, _ := strings.Cut(uri, "?")
	for raw != "" {
		var part string
		if i := strings.IndexAny(raw, "&;"); i >= 0 {
			part, raw = raw[:i], raw[i+1:]
		} else {
			part, raw = raw, ""
		}
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return query{}, errEscape
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			return query{}, errEscape
		}
		switch name {
		case "job":
			q.job = append(q.job, value)
		case "reduce":
			q.reduce = append(q.reduce, value)
		case "keepAlive":
			q.keepAlive = append(q.keepAlive, value)
		case "map":
			if q.maps == nil {
				q.maps = []string{}
			}
			q.maps = append(q.maps, splitMaps(value)...)
		}
	}
	return q, nil
}

// splitMaps splits at commas and drops empty strings at the end, unless there is only one string.
func splitMaps(s string) []string {
	if s == "" {
		return []string{""}
	}
	maps := strings.Split(s, ",")
	for len(maps) > 0 && maps[len(maps)-1] == "" {
		maps = maps[:len(maps)-1]
	}
	return maps
}

// keepsAlive reports whether the reducer asks to keep the connection.
func (q query) keepsAlive() bool {
	return len(q.keepAlive) == 1 && strings.EqualFold(q.keepAlive[0], "true")
}
