// Package webanswer sends requests of tests and reads the whole answers.
package webanswer

import (
	"net/http"
	"testing"

	"heddle/internal/bounded"
)

// maxBytes bounds an answer.
const maxBytes = 64 << 20

// To returns the status and the text of the answer to a request. The test fails if there is none.
func To(t testing.TB, req *http.Request) (status int, text string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := bounded.ReadAll(resp.Body, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
