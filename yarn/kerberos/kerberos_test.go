package kerberos

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/sasl"
)

// now is the time of the tests' realm.
var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const service = "rm/host.example.com@EXAMPLE.COM"

// realm is a KDC of the tests: it knows the services' keys, and gives tickets.
type realm struct {
	t       testing.TB
	path    string // of the services' keytab
	entries []kerberostest.Entry
}

func newRealm(t testing.TB, entries ...kerberostest.Entry) *realm {
	t.Helper()
	r := &realm{t, filepath.Join(t.TempDir(), "keytab"), entries}
	kerberostest.Write(t, r.path, entries)
	return r
}

func keyOf(cipher uint16, fill byte) kerberostest.Entry {
	size := map[uint16]int{17: 16, 18: 32, 19: 16, 20: 32, 23: 16}[cipher]
	return kerberostest.Entry{Principal: service, Version: 1, Cipher: cipher, Key: bytes.Repeat([]byte{fill}, size)}
}

func name(text string) types.PrincipalName {
	return types.PrincipalName{NameType: 1, NameString: strings.Split(text, "/")}
}

// ticket is one of a client for the service of an entry.
func (r *realm) ticket(e kerberostest.Entry, client string, change func(*messages.EncTicketPart)) Ticket {
	r.t.Helper()
	account, clientRealm, _ := strings.Cut(client, "@")
	serviceName, serviceRealm, _ := strings.Cut(e.Principal, "@")
	session := types.EncryptionKey{KeyType: int32(e.Cipher), KeyValue: bytes.Repeat([]byte{7}, len(e.Key))}
	part := messages.EncTicketPart{
		Flags: asn1.BitString{Bytes: make([]byte, 4), BitLength: 32}, Key: session, CRealm: clientRealm, CName: name(account),
		AuthTime: now.Add(-time.Hour), StartTime: now.Add(-time.Hour), EndTime: now.Add(time.Hour), RenewTill: now.Add(time.Hour),
	}
	if change != nil {
		change(&part)
	}
	b, err := asn1.Marshal(part)
	if err != nil {
		r.t.Fatal(err)
	}
	b = asn1tools.AddASNAppTag(b, 3)
	et, err := cipherFor(e)
	if err != nil {
		r.t.Fatal(err)
	}
	_, sealed, err := et.EncryptMessage(e.Key, b, usageTicket)
	if err != nil {
		r.t.Fatal(err)
	}
	return Ticket{
		Ticket: messages.Ticket{
			TktVNO: 5, Realm: serviceRealm, SName: name(serviceName), EncPart: types.EncryptedData{EType: int32(e.Cipher), KVNO: int(e.Version), Cipher: sealed},
		},
		Key: session, Client: name(account), Realm: clientRealm,
	}
}

func (r *realm) acceptor() *Acceptor {
	r.t.Helper()
	k, err := OpenKeytab(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	return &Acceptor{Principal: service, Keytab: k, Replays: NewReplays(), Now: func() time.Time { return now }}
}

func clock() time.Time { return now }

// exchange has a client and a server speak until both are done, or one refuses.
func exchange(c *Client, s *Server) error {
	message, err := c.Start()
	for err == nil {
		answer, complete, refusal := s.Evaluate(message)
		if refusal != nil || complete {
			return refusal
		}
		message, err = c.Respond(answer)
	}
	return err
}

// Client and server agree with each cipher and quality, and read each other.
func TestExchanges(t *testing.T) {
	for _, cipher := range []uint16{17, 18, 19, 20} {
		e := keyOf(cipher, 1)
		r := newRealm(t, e)
		a := r.acceptor()
		for _, q := range []sasl.Quality{sasl.Authentication, sasl.Integrity, sasl.Privacy} {
			client, server := NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), sasl.Qualities{q}, clock, nil), NewServer(a, sasl.Qualities{q})
			if err := exchange(client, server); err != nil || !client.Complete() || server.Client() != "alice@EXAMPLE.COM" {
				t.Fatalf("cipher %d, %v: %v, client %q", cipher, q, err, server.Client())
			}
			from, to := client.Protection(), server.Protection()
			if (from == nil) != (q == sasl.Authentication) || (to == nil) != (q == sasl.Authentication) {
				t.Fatalf("cipher %d, %v: protections %v and %v", cipher, q, from, to)
			}
			if from == nil {
				continue
			}
			for _, n := range []int{0, 1, 15, 16, 17, 1000, from.MaxMessage()} {
				message := bytes.Repeat([]byte("legible."), n/8+1)[:n]
				for _, way := range [][2]sasl.Protection{{from, to}, {to, from}} {
					sealed, err := way[0].Wrap([]byte("before"), message)
					if err != nil {
						t.Fatal(err)
					}
					sealed = sealed[len("before"):]
					if len(sealed) > buffer || q == sasl.Privacy && bytes.Contains(sealed, []byte("legible")) {
						t.Errorf("cipher %d: a token of %d bytes: %.50q", cipher, len(sealed), sealed)
					}
					if got, err := way[1].Unwrap(sealed); err != nil || !bytes.Equal(got, message) {
						t.Fatalf("cipher %d, %v: %.50x, %v, want %.50x", cipher, q, got, err, message)
					}
				}
			}
		}
	}
}

// Tickets and requests that prove nothing are refused. The server tells the client no more than stock's, and its log the reason.
func TestRefusedRequests(t *testing.T) {
	e, other := keyOf(18, 1), keyOf(18, 2)
	other.Principal = "HTTP/host.example.com@EXAMPLE.COM"
	weak := keyOf(23, 3)
	r := newRealm(t, e, other, weak)
	for why, x := range map[string]struct {
		ticket Ticket
		at     time.Duration // of the client's clock, compared with the server's
		change func([]byte) []byte
		ok     bool
		want   string
	}{
		"right":                 {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), ok: true},
		"clock is 4 min ahead":  {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), at: 4 * time.Minute, ok: true},
		"clock is 6 min ahead":  {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), at: 6 * time.Minute, want: "clocks"},
		"clock is 6 min behind": {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), at: -6 * time.Minute, want: "clocks"},
		"ticket of another":     {ticket: r.ticket(other, "alice@EXAMPLE.COM", nil), want: "the ticket is for HTTP/"},
		"unknown key":           {ticket: r.ticket(keyOf(18, 9), "alice@EXAMPLE.COM", nil), want: "ticket for rm/"},
		"expired":               {ticket: r.ticket(e, "alice@EXAMPLE.COM", func(p *messages.EncTicketPart) { p.EndTime = now.Add(-6 * time.Minute) }), want: "ended"},
		"not yet":               {ticket: r.ticket(e, "alice@EXAMPLE.COM", func(p *messages.EncTicketPart) { p.StartTime = now.Add(6 * time.Minute) }), want: "valid from"},
		"invalid":               {ticket: r.ticket(e, "alice@EXAMPLE.COM", func(p *messages.EncTicketPart) { p.Flags.Bytes[0] = 1 }), want: "valid yet"},
		"somebody else's":       {ticket: r.ticket(e, "alice@EXAMPLE.COM", func(p *messages.EncTicketPart) { p.CName = name("bob") }), want: "different clients"},
		"somebody else's realm": {ticket: r.ticket(e, "alice@EXAMPLE.COM", func(p *messages.EncTicketPart) { p.CRealm = "OTHER.COM" }), want: "different clients"},
		"another session key":   {ticket: r.ticket(e, "alice@EXAMPLE.COM", func(p *messages.EncTicketPart) { p.Key.KeyValue = bytes.Repeat([]byte{8}, 32) }), want: "authenticator"},
		"corrupt":               {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), change: func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, want: "authenticator"},
		"cut":                   {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), change: func(b []byte) []byte { return b[:len(b)-1] }, want: "not a Kerberos token"},
		"empty":                 {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), change: func([]byte) []byte { return nil }, want: "not a Kerberos token"},
		"another mechanism":     {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), change: func(b []byte) []byte { return bytes.Replace(b, []byte{0x86, 0xf7, 0x12}, []byte{0x86, 0xf7, 0x13}, 1) }, want: "not a Kerberos token"},
		"an answer, not a request": {ticket: r.ticket(e, "alice@EXAMPLE.COM", nil), change: func(b []byte) []byte {
			return bytes.Replace(b, append(bytes.Clone(mechanism), 1, 0), append(bytes.Clone(mechanism), 2, 0), 1)
		}, want: "token of kind 0200"},
	} {
		c := NewClient(x.ticket, nil, func() time.Time { return now.Add(x.at) }, nil)
		message, err := c.Start()
		if err != nil {
			t.Fatal(err)
		}
		if x.change != nil {
			message = x.change(message)
		}
		_, _, err = NewServer(r.acceptor(), nil).Evaluate(message)
		refusal := (*sasl.Error)(nil)
		switch {
		case x.ok && err == nil:
		case x.ok, !errors.As(err, &refusal), refusal.Text != "GSS initiate failed", refusal.Err == nil, !strings.Contains(refusal.Err.Error(), x.want):
			t.Errorf("%s: %v", why, err)
		}
	}
	for _, client := range []string{"a@b@EXAMPLE.COM", "al\x00ice@EXAMPLE.COM", "@EXAMPLE.COM", "alice/@EXAMPLE.COM", "alice@"} {
		if got, err := fullName(name(strings.SplitN(client, "@", 2)[0]), strings.SplitN(client, "@", 2)[1]); err == nil {
			t.Errorf("%q is %q", client, got)
		}
	}
	if _, err := NewClient(r.ticket(weak, "alice@EXAMPLE.COM", nil), nil, clock, nil).Start(); !errors.Is(err, errWeak) {
		t.Errorf("a ticket by RC4: %v", err)
	}
}

// cipherFor is the cipher of an entry, also of one that the package refuses.
func cipherFor(e kerberostest.Entry) (encrypter, error) {
	if int32(e.Cipher) == etypeID.RC4_HMAC {
		return noCipher{}, nil
	}
	return cipherOf(types.EncryptionKey{KeyType: int32(e.Cipher), KeyValue: e.Key})
}

type encrypter interface {
	EncryptMessage(key, message []byte, usage uint32) ([]byte, []byte, error)
}

type noCipher struct{}

func (noCipher) EncryptMessage(_, message []byte, _ uint32) ([]byte, []byte, error) {
	return nil, message, nil
}

// A keytab that gets a new version under a running daemon opens tickets of both versions. A file that is broken meanwhile changes nothing.
func TestKeytabThatChanges(t *testing.T) {
	old, fresh := keyOf(18, 1), keyOf(18, 2)
	fresh.Version = 2
	r := newRealm(t, old)
	a := r.acceptor()
	try := func(e kerberostest.Entry) error {
		return exchange(NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), nil, clock, nil), NewServer(a, nil))
	}
	if err := try(fresh); err == nil {
		t.Error("a key that the file lacks opened a ticket")
	}
	kerberostest.Write(t, r.path, []kerberostest.Entry{old, fresh})
	for _, e := range []kerberostest.Entry{fresh, old} {
		if err := try(e); err != nil {
			t.Errorf("version %d: %v", e.Version, err)
		}
	}
	kerberostest.Write(t, r.path, []kerberostest.Entry{{Principal: "x@Y", Version: 1, Cipher: 18}})
	if err := try(old); err != nil {
		t.Errorf("before anything asks for a new key: %v", err)
	}
	if _, err := OpenKeytab(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a file that is missing: %v", err)
	}
}

// Replays are noticed for as long as an authenticator is valid, and memory is bounded.
func TestReplays(t *testing.T) {
	r := NewReplays()
	r.most = 3
	sealed := func(i byte) types.EncryptedData { return types.EncryptedData{Cipher: []byte{i}} }
	at := now
	add := func(i byte, want error) {
		t.Helper()
		if err := r.add(sealed(i), at, DefaultSkew); !errors.Is(err, want) {
			t.Errorf("%d: got %v, want %v", i, err, want)
		}
	}
	add(1, nil)
	add(1, errReplay)
	at = at.Add(2*DefaultSkew - time.Second)
	add(1, errReplay)
	add(2, nil)
	at = at.Add(time.Second) // the next period
	add(1, errReplay)
	add(2, errReplay)
	at = at.Add(2*DefaultSkew - time.Second)
	add(2, errReplay)
	add(3, nil)
	add(4, nil)
	add(5, nil)
	add(6, errMany)
	at = at.Add(6 * DefaultSkew)
	add(3, nil)
	if n := len(r.seen[0]) + len(r.seen[1]); n != 1 {
		t.Errorf("%d are kept", n)
	}
}

// contexts are the two ends of an established context.
func contexts(t testing.TB, cipher int32) (initiator, acceptor *Context) {
	t.Helper()
	key := types.EncryptionKey{KeyType: cipher, KeyValue: bytes.Repeat([]byte{5}, map[int32]int{17: 16, 18: 32, 19: 16, 20: 32}[cipher])}
	return &Context{initiator: true, key: key, send: 10, want: 20}, &Context{key: key, send: 20, want: 10}
}

// Wrap tokens of MIT's library are rotated. Tokens that are changed, repeated, left out, sent back or of a context with another key are refused.
func TestWrapTokens(t *testing.T) {
	for _, cipher := range []int32{17, 18, 19, 20} {
		for _, seal := range []bool{false, true} {
			initiator, acceptor := contexts(t, cipher)
			token, err := initiator.Wrap([]byte("a message"), seal)
			if err != nil {
				t.Fatal(err)
			}
			body := token[wrapHeader:]
			const rotated = 28
			turned := append(bytes.Clone(token[:wrapHeader]), append(bytes.Clone(body[len(body)-rotated%len(body):]), body[:len(body)-rotated%len(body)]...)...)
			turned[7] = rotated
			got, sealed, err := acceptor.Unwrap(turned)
			if err != nil || string(got) != "a message" || sealed != seal {
				t.Errorf("cipher %d, rotated: %q, %v", cipher, got, err)
			}
			if _, _, err := acceptor.Unwrap(token); !errors.Is(err, errSequence) {
				t.Errorf("repeated: %v", err)
			}
			second, _ := initiator.Wrap([]byte("a second message"), seal)
			third, _ := initiator.Wrap([]byte("a third message"), seal)
			if _, _, err := acceptor.Unwrap(third); !errors.Is(err, errSequence) {
				t.Errorf("left out: %v", err)
			}
			if _, _, err := initiator.Unwrap(second); !errors.Is(err, errWrap) {
				t.Errorf("sent back: %v", err)
			}
			for i := range second {
				if seal && (i == 6 || i == 7) || !seal && (i == 6 || i == 7) { // the rotation
					continue
				}
				changed := bytes.Clone(second)
				changed[i] ^= 0x40
				if got, _, err := acceptor.Unwrap(changed); err == nil {
					t.Fatalf("cipher %d, sealed %v: byte %d was changed, and %q taken", cipher, seal, i, got)
				}
			}
			if got, _, err := acceptor.Unwrap(second); err != nil || string(got) != "a second message" {
				t.Errorf("after all that: %q, %v", got, err)
			}
		}
	}
	initiator, acceptor := contexts(t, 18)
	weak := &protection{context: acceptor, seal: true, max: 100}
	signed, _ := initiator.Wrap([]byte("legible"), false)
	if got, err := weak.Unwrap(signed); err == nil {
		t.Errorf("privacy was agreed on, and %q taken", got)
	}
}

// A server takes only a quality that it offered, one at a time, and only the client's own name.
func TestChoices(t *testing.T) {
	e := keyOf(18, 1)
	r := newRealm(t, e)
	a := r.acceptor()
	for answer, want := range map[string]string{
		"\x04\x01\x00\x00":                  "",
		"\x01\x00\x00\x00":                  "",
		"\x01\x00\x00\x00alice@EXAMPLE.COM": "",
		"\x02\x01\x00\x00":                  "Problem with callback handler",
		"\x05\x01\x00\x00":                  "Problem with callback handler",
		"\x00\x01\x00\x00":                  "Problem with callback handler",
		"\x04\x00\x00\x10":                  "Problem with callback handler",
		"\x01\x00\x00\x00bob@EXAMPLE.COM":   "Problem with callback handler",
		"\x01\x00\x00":                      "Final handshake failed",
	} {
		c, s := NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), nil, clock, nil), NewServer(a, sasl.Qualities{sasl.Privacy, sasl.Authentication})
		message, _ := c.Start()
		reply, _, err := s.Evaluate(message)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Respond(reply); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Evaluate(nil); err != nil {
			t.Fatal(err)
		}
		token, _ := c.context.Wrap([]byte(answer), false)
		_, complete, err := s.Evaluate(token)
		if complete != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", answer, complete, err, want)
		}
		if _, _, err := s.Evaluate(token); err == nil {
			t.Errorf("%q: the exchange goes on after its end", answer)
		}
	}
	// The client gives up if it has nothing in common with the server, and if the server doesn't prove itself.
	c, s := NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), sasl.Qualities{sasl.Integrity}, clock, nil), NewServer(a, sasl.Qualities{sasl.Privacy, sasl.Authentication})
	if err := exchange(c, s); err == nil || err.Error() != "No common protection layer between client and server" || s.Client() != "" {
		t.Errorf("no common quality: %v", err)
	}
	for _, later := range []time.Duration{time.Microsecond, time.Second} {
		one, two := NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), nil, clock, nil), NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), nil, func() time.Time { return now.Add(later) }, nil)
		message, _ := one.Start()
		_, _ = two.Start()
		reply, _, err := NewServer(a, nil).Evaluate(message)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := two.Respond(reply); err == nil {
			t.Errorf("an answer to a request of %v before was taken", later)
		}
	}
	s = NewServer(a, nil)
	message, err := NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), nil, clock, nil).Start()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Evaluate(message); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Evaluate([]byte{1}); err == nil || err.Error() != "Handshake expecting no response data from server" {
		t.Errorf("data instead of an empty message: %v", err)
	}
}

func FuzzAccept(f *testing.F) {
	e := keyOf(18, 1)
	r := newRealm(f, e)
	message, err := NewClient(r.ticket(e, "alice@EXAMPLE.COM", nil), nil, clock, bytes.NewReader(make([]byte, 100))).Start()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message)
	f.Add(message[:40])
	f.Add(newToken(kindRequest, nil))
	a := r.acceptor()
	f.Fuzz(func(t *testing.T, b []byte) {
		// What isn't encrypted, such as options, may change and prove the same. Nobody else can come out of it.
		if c, _, err := a.Accept(b); err == nil && c.Client != "alice@EXAMPLE.COM" {
			t.Errorf("%x is of %s", b, c.Client)
		}
	})
}

func FuzzOpenReply(f *testing.F) {
	key := types.EncryptionKey{KeyType: 18, KeyValue: make([]byte, 32)}
	auth := types.Authenticator{CTime: now}
	reply, err := newReply(&auth, key, 7, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(reply)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, number, err := openReply(b, &auth, key); err == nil && number != 7 {
			t.Errorf("%x has number %d", b, number)
		}
	})
}

func FuzzContextUnwrap(f *testing.F) {
	for _, seal := range []bool{false, true} {
		initiator, _ := contexts(f, 18)
		token, err := initiator.Wrap([]byte("message"), seal)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, acceptor := contexts(t, 18)
		if got, _, err := acceptor.Unwrap(b); err == nil && string(got) != "message" {
			t.Errorf("%x holds %q", b, got)
		}
	})
}

func FuzzKeytab(f *testing.F) {
	f.Add([]byte{5, 2, 0, 0, 0, 3, 0, 1, 2})
	f.Add([]byte{5, 1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseKeytab(b) })
}

func BenchmarkExchange(b *testing.B) {
	e := keyOf(18, 1)
	r := newRealm(b, e)
	a, ticket := r.acceptor(), r.ticket(e, "alice@EXAMPLE.COM", nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := exchange(NewClient(ticket, nil, clock, nil), NewServer(a, nil)); err != nil {
			b.Fatal(err)
		}
	}
}

// A keytab that got new keys within a second had the older ones used where a message names no version, as the KDC's answers to logins do.
func TestTheNewestKeyIsTakenWhereNoneIsNamed(t *testing.T) {
	old, fresh := keyOf(18, 1), keyOf(18, 2)
	fresh.Version = 2
	for _, entries := range [][]kerberostest.Entry{{old, fresh}, {fresh, old}} {
		path := filepath.Join(t.TempDir(), "keytab")
		kerberostest.Write(t, path, entries)
		k, err := OpenKeytab(path)
		if err != nil {
			t.Fatal(err)
		}
		name, realm, _ := strings.Cut(fresh.Principal, "@")
		key, version, err := k.Keys().GetEncryptionKey(types.PrincipalName{NameString: strings.Split(name, "/")}, realm, 0, 18)
		if err != nil || version != 2 || !bytes.Equal(key.KeyValue, fresh.Key) {
			t.Errorf("version %d, %v", version, err)
		}
	}
}
