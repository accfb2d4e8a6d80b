package served

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"heddle/internal/bounded"
	"heddle/yarn/records"
	"heddle/yarn/writable"
)

// Refusal is an answer of a service that doesn't give an output: it doesn't have it, can't read it, or doesn't know the job.
type Refusal struct {
	URL    string
	Status string
	Text   string
}

func (e *Refusal) Error() string { return fmt.Sprintf("%s: %s: %s", e.URL, e.Status, e.Text) }

// Part is a map's output for a reduce. Read returns its lines; then Sum.
type Part struct {
	Length int64 // of the lines, bytes
	lines  io.LimitedReader
	body   io.Closer
}

func (p *Part) Read(b []byte) (int, error) { return p.lines.Read(b) }

// Sum returns what the CRC-32C of the lines should be, after all of them were read.
func (p *Part) Sum() (uint32, error) {
	if p.lines.N != 0 {
		return 0, errors.New("the lines weren't read to their end")
	}
	var b [trailer]byte
	if _, err := io.ReadFull(p.lines.R, b[:]); err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b[:]), nil
}

// Close ends the answer.
func (p *Part) Close() error { return p.body.Close() }

// Client asks services of nodes for outputs.
type Client struct {
	HTTP *http.Client
	TLS  bool // the services speak HTTPS (mapreduce.shuffle.ssl.enabled)
}

// Get asks the service at host:port for the part of an output, by its Name, that is for a reduce. An error may be a *Refusal. Others may pass.
func (c Client) Get(ctx context.Context, at string, secret []byte, app records.ApplicationID, name string, reduce int) (*Part, error) {
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	uri := fmt.Sprintf("/mapOutput?job=%s&reduce=%d&map=%s&keepAlive=true", jobID(app), reduce, url.QueryEscape(name))
	scheme := "http://"
	if c.TLS {
		scheme = "https://"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+at+uri, nil)
	if err != nil {
		return nil, err
	}
	hash := sign(secret, port+uri)
	r.Header["UrlHash"], r.Header["name"], r.Header["version"] = []string{hash}, []string{"mapreduce"}, []string{"1.0.0"}
	a, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	p, err := answer(a, hash, secret, name, reduce)
	if err != nil {
		a.Body.Close()
		return nil, err
	}
	return p, nil
}

// sign proves knowledge of the secret (Hadoop: SecureShuffleUtils.generateHash).
func sign(secret []byte, text string) string {
	h := hmac.New(sha1.New, secret)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// answer checks an answer up to where the lines begin.
func answer(a *http.Response, hash string, secret []byte, name string, reduce int) (*Part, error) {
	at := ""
	if a.Request != nil {
		at = a.Request.URL.String()
	}
	switch {
	case a.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%s: %s", at, a.Status)
	case a.StatusCode != http.StatusOK:
		text, _ := bounded.ReadSome(a.Body, 500)
		return nil, &Refusal{URL: at, Status: a.Status, Text: string(text)}
	case !hmac.Equal([]byte(a.Header.Get("ReplyHash")), []byte(sign(secret, hash))):
		return nil, fmt.Errorf("%s: the answer isn't signed with the job's secret", at)
	}
	in := bufio.NewReader(a.Body)
	length, size, err := head(in, name, reduce)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if a.ContentLength != size {
		return nil, fmt.Errorf("%s: an answer of %d bytes, not %d", at, a.ContentLength, size)
	}
	return &Part{Length: length, lines: io.LimitedReader{R: in, N: length}, body: a.Body}, nil
}

// maxLength bounds a part, in bytes.
const maxLength = 1 << 50

// head reads what is before a part (Hadoop: ShuffleHeader), which must be the one that was asked for. It returns the length of the part's lines, and of
// all of the answer.
func head(in *bufio.Reader, name string, reduce int) (length, size int64, err error) {
	want := writable.AppendText(nil, name)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(in, got); err != nil {
		return 0, 0, err
	}
	if string(got) != string(want) {
		return 0, 0, fmt.Errorf("it begins with %q instead of the header of %s", got, name)
	}
	before := int64(len(want))
	var n [3]int64 // length in the file, length in the end, reduce
	for i := range n {
		var took int
		if n[i], took, err = vlong(in); err != nil {
			return 0, 0, err
		}
		before += int64(took)
	}
	if n[1] < 0 || n[1] > maxLength || n[0] != n[1]+trailer || n[2] != int64(reduce) {
		return 0, 0, fmt.Errorf("the header of %s says %d bytes of %d for reduce %d", name, n[0], n[1], n[2])
	}
	return n[1], before + n[0], nil
}

// vlong reads a number of Hadoop's WritableUtils.writeVLong, and returns how many bytes it has.
func vlong(in *bufio.Reader) (v int64, took int, err error) {
	first, err := in.Peek(1)
	if err != nil {
		return 0, 0, err
	}
	took = 1
	switch f := int8(first[0]); {
	case f >= -112:
	case f >= -120:
		took += -112 - int(f)
	default:
		took += -120 - int(f)
	}
	b := make([]byte, took)
	if _, err := io.ReadFull(in, b); err != nil {
		return 0, 0, err
	}
	v, err = writable.NewReader(b).VLong()
	return v, took, err
}
