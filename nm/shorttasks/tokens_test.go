package shorttasks

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/await"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// On an HDFS with Kerberos neither node nor tasks could read for a scheduler's user: its tokens go to both.
func TestTokensOfASchedulerAreForItsNodeAndTasks(t *testing.T) {
	l := newLab(t, 1)
	m := &memory{l: l}
	l.o.Stager, l.staged = m, newStaged(m)
	creds := &token.Credentials{}
	creds.SetToken("hdfs", token.Token{Kind: token.KindHDFS, Service: "nn:8020", Identifier: []byte("id"), Password: []byte("password")})
	creds.SetSecret(wire.SecretAlias, []byte("not the executor's"))
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	c := l.dial("anna")
	say(t, c, &wire.Greeting{Scheduler: "one", Credentials: raw})
	hear[*wire.Lent](t, c)
	p := of(1, 2, 2)
	p.Inputs = []string{"/in"}
	say(t, c, p)
	say(t, c, &wire.Task{ID: hear[*wire.Ask](t, c).ID, Args: []string{"true"}})
	await.Until(t, "an executor starts, and an input is staged", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.started) == 1 && len(m.by) == 1
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(creds.Tokens, l.started[0].Tokens); diff != "" || cmp.Equal(l.started[0].Secret, []byte("not the executor's")) {
		t.Errorf("the executor's: %s", diff)
	}
	if diff := cmp.Diff(Reader{"anna", creds.Tokens}, m.by[0]); diff != "" {
		t.Errorf("the stager's: %s", diff)
	}
}
