package kerberos

import (
	"bytes"
	"testing"

	"heddle/yarn/sasl"
)

// A whole exchange that somebody has recorded was taken by another member of a group: its memory of requests is its own, and the client's messages depended on nothing of the
// member's. A member that chooses the key of an exchange refuses the first one that takes it.
func TestExchangesAreNotRepeatedToAnotherMember(t *testing.T) {
	for _, q := range []sasl.Quality{sasl.Authentication, sasl.Integrity, sasl.Privacy} {
		e := keyOf(18, 1)
		r := newRealm(t, e)
		member := func() *Server {
			a := r.acceptor()
			a.OwnKey = true
			return NewServer(a, sasl.Qualities{q})
		}
		client, first := NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), sasl.Qualities{q}, clock, nil), member()
		var said [][]byte
		message, err := client.Start()
		for complete := false; !complete; {
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, bytes.Clone(message))
			var answer []byte
			var refusal error
			if answer, complete, refusal = first.Evaluate(message); refusal != nil {
				t.Fatal(refusal)
			}
			if !complete {
				message, err = client.Respond(answer)
			}
		}
		if first.Client() != "alice@EXAMPLE.COM" || !client.Complete() {
			t.Fatalf("%v: the exchange itself: %q", q, first.Client())
		}
		if from, to := client.Protection(), first.Protection(); from != nil {
			sealed, err := from.Wrap(nil, []byte("text"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := to.Unwrap(sealed); err != nil || string(got) != "text" {
				t.Errorf("%v: %q, %v", q, got, err)
			}
		}
		other := member()
		for i, m := range said {
			if _, complete, refusal := other.Evaluate(m); complete || refusal != nil {
				if complete || i != len(said)-1 {
					t.Errorf("%v: message %d of %d: taken %v, %v", q, i, len(said), complete, refusal)
				}
			}
		}
		if other.Client() != "" && other.Protection() != nil {
			t.Errorf("%v: another member takes the exchange of %q", q, other.Client())
		}
	}
}
