package signed

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

type (
	question struct{ Version int }
	answer   struct{ Version int }
)

func TestCallerInsists(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(Serve(NewGuard([]byte("key")), func(_ context.Context, r *question) (answer, error) {
		switch {
		case r.Version == 13:
			return answer{}, ErrGone
		case calls.Add(1) == 1:
			return answer{}, errors.New("trouble")
		}
		return answer{Version: r.Version + 1}, nil
	}))
	defer server.Close()
	c := &Caller{Base: server.URL, Signer: NewSigner([]byte("key")), HTTP: server.Client()}
	var s answer
	if err := c.Call(t.Context(), "/status", question{}, &s); err == nil || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("%v", err)
	}
	if err := c.Insist(t.Context(), "/status", question{5}, &s); err != nil || s.Version != 6 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := c.Insist(t.Context(), "/status", question{13}, &s); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Insist(ctx, "/status", question{}, &s); err == nil {
		t.Error("a call of nobody succeeds")
	}
}
