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

// maxHead bounds the request line and headers together; reducers ask for 20 maps at a time, which is less than 2 KB.
const maxHead = 64 << 10

// maxBody is how much of a body that has no business to be there is skipped for the next request's sake.
const maxBody = 64 << 10

// request is the head of an HTTP request, read leniently, as Netty does.
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

// readRequest reads a request with its body, if it has one. An error means that there is no (more) request; what can't be
// understood is a request that is invalid.
func readRequest(in *bufio.Reader) (*request, error) {
	left := maxHead
	line, err := readLine(in, &left)
	for err == nil && len(line) == 0 { // empty lines before a request are skipped
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

// readLine returns a line without its end and takes its length off left.
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

// skipBody reads past a body. It tells whether what follows may be another request.
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

// query is the part of a URI that matters.
type query struct {
	job, reduce, keepAlive []string
	maps                   []string // nil if there is no such parameter
}

var errEscape = errors.New("bad escape sequence")

// parseQuery reads the parameters as Netty's QueryStringDecoder and Java's String.split do.
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

// splitMaps splits at commas and drops empty strings at the end, but not a single one.
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

// keepsAlive tells whether the reducer asks for the connection to be kept.
func (q query) keepsAlive() bool {
	return len(q.keepAlive) == 1 && strings.EqualFold(q.keepAlive[0], "true")
}
