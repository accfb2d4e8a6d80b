package signed

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"heddle/internal/bounded"
)

// Caller calls the ApplicationMaster.
type Caller struct {
	Base   string // http://host:port
	Signer *Signer
	HTTP   *http.Client
}

// ErrGone means that the ApplicationMaster doesn't want to hear from this worker any more.
var ErrGone = errors.New("the ApplicationMaster no longer needs this worker")

// Call posts a request and reads the response, as long as ctx lasts; it tries once.
func (c *Caller) Call(ctx context.Context, path string, req, resp any) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signature := c.Signer.Sign(r, body)
	a, err := c.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	body, err = bounded.ReadAll(a.Body, maxAnswer)
	if err != nil {
		return fmt.Errorf("%s: the answer: %w", c.Base+path, err)
	}
	genuine := hmac.Equal([]byte(a.Header.Get(AnswerHeader)), []byte(AnswerMAC(c.Signer.key, signature, a.StatusCode, body)))
	switch {
	case genuine && a.StatusCode == http.StatusGone:
		return ErrGone
	case a.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %s", c.Base+path, a.Status, strings.TrimSpace(string(body[:min(len(body), 1000)])))
	case !genuine:
		return fmt.Errorf("%s: the answer is not signed with the job's key", c.Base+path)
	case resp == nil:
		return nil
	}
	if err := json.Unmarshal(body, resp); err != nil {
		return fmt.Errorf("%s: %w", c.Base+path, err)
	}
	return nil
}

// Pauses between attempts at a call, and how long it is attempted: the ApplicationMaster doesn't come back elsewhere; when it
// is dead the NodeManagers end its containers.
const (
	callPause    = 200 * time.Millisecond
	callPatience = 60 * time.Second
)

// Insist repeats a call until there is an answer.
func (c *Caller) Insist(ctx context.Context, path string, req, resp any) error {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	for {
		err := c.Call(ctx, path, req, resp)
		if err == nil || errors.Is(err, ErrGone) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the ApplicationMaster doesn't answer: %w", err)
		case <-time.After(callPause):
		}
	}
}

// Serve answers posted requests of a type, which a Guard lets through, with what f returns.
func Serve[Q, A any](g *Guard, f func(ctx context.Context, req *Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		signature, body, err := g.Check(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		answer := func(status int, body []byte) {
			w.Header().Set(AnswerHeader, AnswerMAC(g.key, signature, status, body))
			w.WriteHeader(status)
			_, _ = w.Write(body) // a client that has gone asks again
		}
		var req Q
		if err := json.Unmarshal(body, &req); err != nil {
			answer(http.StatusBadRequest, []byte(err.Error()))
			return
		}
		a, err := f(r.Context(), &req)
		switch {
		case errors.Is(err, ErrGone):
			answer(http.StatusGone, []byte(err.Error()))
			return
		case err != nil:
			answer(http.StatusInternalServerError, []byte(err.Error()))
			return
		}
		if body, err = json.Marshal(a); err != nil {
			answer(http.StatusInternalServerError, []byte(err.Error()))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer(http.StatusOK, body)
	})
}
