package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// tagOf returns the ETag of an answer.
func tagOf(body Body) string {
	h := sha256.New()
	for _, piece := range body {
		h.Write(piece)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:12]) + `"`
}

// version returns the ETag of a reply whose bytes are those of body.
func (r *Reply) version(body Body) string {
	if r.tag == "" {
		r.tag = tagOf(body)
	}
	return r.tag
}

// unchanged gives an answer its ETag. If the client has that one already, it answers 304 and returns true. Tags are compared weakly, as a compressor
// makes the tag of what it compresses weak (RFC 9110, 13.1.2).
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache") // ask each time, and keep it from caches of others
	w.Header().Add("Vary", "Accept")
	for _, list := range r.Header.Values("If-None-Match") {
		for have := range strings.SplitSeq(list, ",") {
			if have = strings.TrimPrefix(strings.TrimSpace(have), "W/"); have == tag || have == "*" {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}
