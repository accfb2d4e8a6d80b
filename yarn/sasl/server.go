package sasl

import (
	"crypto/subtle"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Server is the server's side of one exchange: Challenge once, then Evaluate once. It is not safe for concurrent use.
type Server struct {
	nonce     string
	qualities Qualities
	done      bool
	proved    *digest // of the client, once it has proved itself
}

// NewServer starts an exchange. The server offers the qualities. Nonces come from random, or from crypto/rand if it is nil.
func NewServer(qualities Qualities, random io.Reader) (*Server, error) {
	nonce, err := newNonce(random)
	if err != nil {
		return nil, &Error{Text: "DIGEST-MD5: Error generating challenge", Err: err}
	}
	return &Server{nonce: nonce, qualities: qualities}, nil
}

// Challenge returns the first message, from server to client.
func (s *Server) Challenge() []byte {
	b := appendQuoted(nil, "realm", Realm)
	b = appendQuoted(append(b, ','), "nonce", s.nonce)
	var names []string
	for _, q := range s.qualities.orDefault() {
		names = append(names, q.qop())
	}
	b = appendQuoted(append(b, ','), "qop", strings.Join(names, ","))
	b = append(b, ",charset=utf-8"...)
	if s.qualities.Accepts(Privacy) {
		b = appendQuoted(append(b, ','), "cipher", strings.Join(offered, ","))
	}
	return append(b, ",algorithm=md5-sess"...)
}

var responseNames = set("username", "realm", "nonce", "cnonce", "nc", "qop", "digest-uri", "response", "maxbuf",
	"charset", "cipher", "authzid", "auth-param")

// Evaluate checks the client's response. password returns the SASL password of a user name. If it fails, Evaluate
// returns an *Error that wraps its error. The result goes back to the client as proof that the server knows the
// password too. After a failure the exchange is over.
func (s *Server) Evaluate(response []byte, password func(username string) (string, error)) (rspauth []byte, err error) {
	if len(response) > maxResponse {
		return nil, errorf("DIGEST-MD5: Invalid digest response length. Got:  %d Expected < %d", len(response), maxResponse)
	}
	if s.done {
		return nil, errorf("DIGEST-MD5: Server at illegal state")
	}
	s.done = true
	v, err := parse(response, responseNames, nil)
	if err != nil {
		return nil, err
	}
	d, err := s.check(v)
	if err != nil {
		return nil, err
	}
	d.password, err = password(d.username)
	if err != nil {
		return nil, &Error{Text: "DIGEST-MD5: IO error acquiring password", Err: err}
	}
	if subtle.ConstantTimeCompare(v["response"], []byte(d.sum("AUTHENTICATE"))) != 1 {
		return nil, violation("Mismatched response.")
	}
	if d.authzid != nil && string(d.authzid) != d.username {
		return nil, errorf("DIGEST-MD5: %s is not authorized to act as %s", d.username, d.authzid)
	}
	s.proved = d
	return []byte("rspauth=" + d.sum("")), nil
}

// Username returns the user name of a client that has proved itself. It is empty until Evaluate has succeeded.
func (s *Server) Username() string {
	if s.proved == nil {
		return ""
	}
	return s.proved.username
}

// Protection returns what protects the data that follows, nil if the quality is Authentication. Call it after Evaluate has succeeded.
func (s *Server) Protection() Protection {
	if s.proved == nil {
		return nil
	}
	return s.proved.protection(false)
}

// checkExchange verifies which exchange a response belongs to.
func (s *Server) checkExchange(v directives) error {
	if charset, ok := v["charset"]; ok && string(charset) != "utf-8" {
		return violation("Incompatible charset value: " + string(charset))
	}
	if maxbuf, ok := v["maxbuf"]; ok {
		if _, err := strconv.ParseInt(string(maxbuf), 10, 32); err != nil {
			return violation("Invalid maxbuf: " + string(maxbuf))
		}
	}
	if _, ok := v["username"]; !ok {
		return violation("Missing username.")
	}
	if realm := string(v["realm"]); realm != Realm {
		return violation("Nonexistent realm: " + realm)
	}
	nonce, ok := v["nonce"]
	if !ok {
		return violation("Missing nonce.")
	}
	if subtle.ConstantTimeCompare(nonce, []byte(s.nonce)) != 1 {
		return violation("Mismatched nonce.")
	}
	if _, ok := v["cnonce"]; !ok {
		return violation("Missing cnonce.")
	}
	if nc, ok := v["nc"]; ok {
		if n, err := strconv.ParseInt(string(nc), 16, 32); err != nil || n != 1 {
			return violation("Nonce count does not match: " + string(nc))
		}
	}
	return nil
}

// check verifies all directives except the digest itself, in the JDK's order.
func (s *Server) check(v directives) (*digest, error) {
	if err := s.checkExchange(v); err != nil {
		return nil, err
	}
	qop := qopAuth
	if q, ok := v["qop"]; ok {
		qop = string(q)
	}
	quality, ok := byQOP(qop)
	if !ok {
		return nil, violation("Invalid QOP: " + qop)
	}
	if !s.qualities.Accepts(quality) {
		return nil, errorf("DIGEST-MD5: server does not support  qop: %s", qop)
	}
	maxBuffer, ok := bufferOf(v)
	if !ok && quality != Authentication {
		return nil, violation("Invalid maxbuf: " + string(v["maxbuf"]))
	}
	cipher := string(v["cipher"])
	if quality == Privacy && !slices.Contains(ciphers, cipher) {
		return nil, errorf("DIGEST-MD5: server does not support cipher: %s", cipher)
	}
	uri, ok := v["digest-uri"]
	if !ok {
		return nil, violation("Mismatched URI: null; expecting: " + digestURI)
	}
	if !strings.EqualFold(string(uri), digestURI) {
		return nil, violation("Mismatched URI: " + string(uri) + "; expecting: " + digestURI)
	}
	if _, ok := v["response"]; !ok {
		return nil, violation(" Missing response.")
	}
	return &digest{
		username: string(v["username"]), realm: Realm, nonce: s.nonce, cnonce: string(v["cnonce"]),
		nc: firstUse, uri: string(uri), qop: qop, authzid: v["authzid"], cipher: cipher, maxBuffer: maxBuffer,
	}, nil
}

func violation(text string) error {
	return errorf("DIGEST-MD5: digest response format violation. %s", text)
}
