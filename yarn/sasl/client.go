package sasl

import (
	"crypto/subtle"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Client is the client's side of one exchange: Respond to the challenge, then Verify the server's proof. It is not safe
// for concurrent use.
type Client struct {
	username, password string
	qualities          Qualities
	random             io.Reader
	uri                string   // the service's digest-uri
	ciphers            []string // of Privacy, the preferred one first
	sent               *digest
}

// NewClient starts an exchange for a user. The client takes the first of its qualities that the server offers. Nonces come from random, or from
// crypto/rand if it is nil.
func NewClient(username, password string, qualities Qualities, random io.Reader) *Client {
	return NewClientOf(digestURI, username, password, qualities, random)
}

// NewClientOf is NewClient for a service with a digest-uri of its own, such as hdfs/0 of DataNodes.
func NewClientOf(uri, username, password string, qualities Qualities, random io.Reader) *Client {
	return &Client{
		username: username, password: password, qualities: qualities, random: random, uri: uri,
		ciphers: ciphers,
	}
}

// AsJava has the client take the ciphers alone that the JDK's clients have: 3des, or else rc4.
func (c *Client) AsJava() { c.ciphers = ciphers[1:] }

// Quality returns what Respond agreed on, 0 before.
func (c *Client) Quality() Quality {
	if c.sent == nil {
		return 0
	}
	q, _ := byQOP(c.sent.qop)
	return q
}

var challengeNames = set("realm", "qop", "algorithm", "nonce", "maxbuf", "charset", "cipher", "rspauth", "stale")

// Respond answers a challenge. It takes the first of several realms. It fails unless the server offers one of the client's qualities. A server that
// names none offers Authentication.
func (c *Client) Respond(challenge []byte) ([]byte, error) {
	if len(challenge) > maxChallenge {
		return nil, errorf("DIGEST-MD5: Invalid digest-challenge length. Got:  %d Expected < %d", len(challenge),
			maxChallenge)
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
		return nil, errorf("DIGEST-MD5: Digest-challenge format violation. Invalid value for 'algorithm' directive: %s",
			algorithm)
	}
	nonce, ok := v["nonce"]
	if !ok {
		return nil, errorf("DIGEST-MD5: Digest-challenge format violation: nonce directive missing")
	}
	quality, cipher, maxBuffer, err := c.choose(v)
	if err != nil {
		return nil, err
	}
	cnonce, err := newNonce(c.random)
	if err != nil {
		return nil, &Error{Text: "DIGEST-MD5: Error generating digest response-value", Err: err}
	}
	d := &digest{
		username: c.username, password: c.password, nonce: string(nonce), cnonce: cnonce,
		nc: firstUse, uri: c.uri, qop: quality.qop(), cipher: cipher, maxBuffer: maxBuffer,
	}
	if len(realms) > 0 {
		d.realm = realms[0]
	}
	b := d.response(utf8)
	if len(b) > maxResponse {
		return nil, errorf("DIGEST-MD5: digest-response size too large. Length: %d", len(b))
	}
	c.sent = d
	return b, nil
}

// response is the message with which a client proves that it knows the password.
func (d *digest) response(utf8 bool) (b []byte) {
	if utf8 {
		b = append(b, "charset=utf-8,"...)
	}
	b = append(appendQuoted(b, "username", d.username), ',')
	if d.realm != "" {
		b = append(appendQuoted(b, "realm", d.realm), ',')
	}
	b = append(appendQuoted(b, "nonce", d.nonce), ",nc="+firstUse+","...)
	b = append(appendQuoted(b, "cnonce", d.cnonce), ',')
	b = append(appendQuoted(b, "digest-uri", d.uri), ",maxbuf=65536,response="+d.sum("AUTHENTICATE")+",qop="+d.qop...)
	if d.cipher != "" {
		b = appendQuoted(append(b, ','), "cipher", d.cipher)
	}
	return b
}

// choose picks the quality of protection and, for Privacy, the cipher. maxBuffer is the server's buffer for tokens, in bytes.
func (c *Client) choose(v directives) (q Quality, cipher string, maxBuffer int, err error) {
	offered := Authentication
	if qop, ok := v["qop"]; ok {
		offered = 0
		for _, name := range strings.FieldsFunc(string(qop), isListSeparator) {
			q, _ := byQOP(name)
			offered |= q
		}
	}
	q, ok := c.qualities.Preferred(offered)
	if !ok {
		return 0, "", 0, errorf("DIGEST-MD5: No common protection layer between client and server")
	}
	if q == Authentication {
		return q, "", 0, nil
	}
	if maxBuffer, ok = bufferOf(v); !ok {
		return 0, "", 0, errorf("DIGEST-MD5: Invalid maxbuf in the challenge: %s", v["maxbuf"])
	}
	if q == Privacy {
		theirs := strings.FieldsFunc(string(v["cipher"]), isListSeparator)
		i := slices.IndexFunc(c.ciphers, func(ours string) bool { return slices.Contains(theirs, ours) })
		if i < 0 {
			return 0, "", 0, errorf("DIGEST-MD5: No common cipher between client and server: the server has [%s], the client [%s]", v["cipher"], strings.Join(c.ciphers, ","))
		}
		cipher = c.ciphers[i]
	}
	return q, cipher, maxBuffer, nil
}

// bufferOf returns the peer's buffer for tokens in bytes, and whether it is large enough.
func bufferOf(v directives) (int, bool) {
	text, ok := v["maxbuf"]
	if !ok {
		return defaultBuffer, true
	}
	n, err := strconv.ParseInt(string(text), 10, 32)
	return int(n), err == nil && n >= smallBuffer
}

// Protection returns what protects the data that follows, nil if the quality is Authentication. Call it after Verify.
func (c *Client) Protection() Protection {
	if c.sent == nil {
		return nil
	}
	return c.sent.protection(true)
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
