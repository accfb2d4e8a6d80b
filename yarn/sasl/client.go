package sasl

import (
	"crypto/subtle"
	"io"
	"slices"
	"strings"
)

// Client is the client's side of one exchange: Respond to the challenge, then Verify the server's proof. It is not safe
// for concurrent use.
type Client struct {
	username, password string
	random             io.Reader
	sent               *digest
}

// NewClient starts an exchange for a user. Nonces come from random, or from crypto/rand if it is nil.
func NewClient(username, password string, random io.Reader) *Client {
	return &Client{username: username, password: password, random: random}
}

var challengeNames = set("realm", "qop", "algorithm", "nonce", "maxbuf", "charset", "cipher", "rspauth", "stale")

// Respond answers a challenge. It takes the first of several realms. It fails unless the server offers the quality of
// protection "auth", or names none, which means the same.
func (c *Client) Respond(challenge []byte) ([]byte, error) {
	if len(challenge) > maxChallenge {
		return nil, errorf("DIGEST-MD5: Invalid digest-challenge length. Got:  %d Expected < %d", len(challenge), maxChallenge)
	}
	if c.sent != nil {
		return nil, errorf("DIGEST-MD5: Client at illegal state")
	}
	var realms []string
	v, err := parse(challenge, challengeNames, &realms)
	if err != nil {
		return nil, err
	}
	charset, utf8 := v["charset"]
	if utf8 && string(charset) != "utf-8" {
		return nil, errorf("DIGEST-MD5: digest-challenge format violation. Unrecognised charset value: %s", charset)
	}
	algorithm, ok := v["algorithm"]
	if !ok {
		return nil, errorf("DIGEST-MD5: Digest-challenge format violation: algorithm directive missing")
	}
	if string(algorithm) != "md5-sess" {
		return nil, errorf("DIGEST-MD5: Digest-challenge format violation. Invalid value for 'algorithm' directive: %s", algorithm)
	}
	nonce, ok := v["nonce"]
	if !ok {
		return nil, errorf("DIGEST-MD5: Digest-challenge format violation: nonce directive missing")
	}
	if qop, ok := v["qop"]; ok && !slices.Contains(strings.FieldsFunc(string(qop), isListSeparator), qopAuth) {
		return nil, errorf("DIGEST-MD5: No common protection layer between client and server")
	}
	cnonce, err := newNonce(c.random)
	if err != nil {
		return nil, &Error{Text: "DIGEST-MD5: Error generating digest response-value", Err: err}
	}
	d := &digest{
		username: c.username, password: c.password, nonce: string(nonce), cnonce: cnonce,
		nc: firstUse, uri: digestURI, qop: qopAuth,
	}
	if len(realms) > 0 {
		d.realm = realms[0]
	}
	var b []byte
	if utf8 {
		b = append(b, "charset=utf-8,"...)
	}
	b = append(appendQuoted(b, "username", d.username), ',')
	if d.realm != "" {
		b = append(appendQuoted(b, "realm", d.realm), ',')
	}
	b = append(appendQuoted(b, "nonce", d.nonce), ",nc="+firstUse+","...)
	b = append(appendQuoted(b, "cnonce", d.cnonce), ',')
	b = append(appendQuoted(b, "digest-uri", d.uri), ",maxbuf=65536,response="+d.sum("AUTHENTICATE")+",qop=auth"...)
	if len(b) > maxResponse {
		return nil, errorf("DIGEST-MD5: digest-response size too large. Length: %d", len(b))
	}
	c.sent = d
	return b, nil
}

// Verify checks the server's last message.
func (c *Client) Verify(rspauth []byte) error {
	if c.sent == nil || len(rspauth) > maxChallenge {
		return errorf("DIGEST-MD5: Client at illegal state")
	}
	v, err := parse(rspauth, challengeNames, nil)
	if err != nil {
		return err
	}
	proof, ok := v["rspauth"]
	if !ok {
		return errorf("DIGEST-MD5: Authenication failed. Expecting 'rspauth' authentication success message")
	}
	if subtle.ConstantTimeCompare(proof, []byte(c.sent.sum(""))) != 1 {
		return errorf("Server's rspauth value does not match what client expects")
	}
	return nil
}

func isListSeparator(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' }
