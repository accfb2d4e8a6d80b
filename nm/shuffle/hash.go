package shuffle

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"strconv"
	"strings"
)

// sign returns the HMAC of a text with a job's secret (SecureShuffleUtils.generateHash).
func sign(secret []byte, text string) []byte {
	h := hmac.New(sha1.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// replyHash proves that the service knows the secret too.
func replyHash(secret []byte, urlHash string) string {
	return base64.StdEncoding.EncodeToString(sign(secret, urlHash))
}

// signedText returns the signed part of a reducer's request: the service's port, and the URI as sent, without its
// fragment.
func signedText(port int, uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	return strconv.Itoa(port) + uri
}

// checkHash reports whether the UrlHash of a request is right.
func checkHash(secret []byte, port int, uri, urlHash string) bool {
	// Java's decoder accepts both alphabets, with padding or without.
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(urlHash), "="))
	sent, err := base64.RawStdEncoding.DecodeString(plain)
	return err == nil && hmac.Equal(sent, sign(secret, signedText(port, uri)))
}
