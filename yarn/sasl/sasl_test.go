package sasl

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type vectors struct {
	Tokens []struct {
		Name       string `json:"name"`
		Identifier string `json:"identifier_hex"`
		Password   string `json:"password_hex"`
		Handshakes []struct {
			Challenge string `json:"challenge"`
			Response  string `json:"response"`
			RspAuth   string `json:"rspauth"`
			Failed    any    `json:"failed"`
		} `json:"handshakes"`
	} `json:"tokens"`
}

// between returns what stands in s between from and the next to.
func between(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	found, _, _ := strings.Cut(rest, to)
	return found
}

func mustHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fixed gives the bytes whose Base64 is a nonce.
func fixed(t testing.TB, nonce string) *bytes.Reader {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(nonce)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b)
}

// With the nonces of recorded handshakes both sides here say what the recorded ones said, byte for byte.
func TestRecordedHandshakes(t *testing.T) {
	b, err := os.ReadFile("../token/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, tok := range v.Tokens {
		identifier, pw := mustHex(t, tok.Identifier), mustHex(t, tok.Password)
		for _, h := range tok.Handshakes {
			n++
			client := NewClient(Username(identifier), Password(pw), nil, fixed(t, between(h.Response, `cnonce="`, `"`)))
			response, err := client.Respond([]byte(h.Challenge))
			if err != nil || string(response) != h.Response {
				t.Errorf("%s: response %s, %v, want %s", tok.Name, response, err, h.Response)
			}
			server, err := NewServer(nil, fixed(t, between(h.Challenge, `nonce="`, `"`)))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(server.Challenge()); got != h.Challenge {
				t.Errorf("%s: challenge %s, want %s", tok.Name, got, h.Challenge)
			}
			if h.Failed != nil { // the token had been cancelled
				refused := errors.New("refused")
				if _, err := server.Evaluate([]byte(h.Response), func(string) (string, error) { return "", refused }); !errors.Is(err, refused) {
					t.Errorf("%s: got %v", tok.Name, err)
				}
				continue
			}
			rspauth, err := server.Evaluate([]byte(h.Response), func(username string) (string, error) {
				if got := Identifier(username); !bytes.Equal(got, identifier) {
					t.Errorf("%s: identifier %x, want %x", tok.Name, got, identifier)
				}
				return Password(pw), nil
			})
			if err != nil || string(rspauth) != h.RspAuth {
				t.Errorf("%s: rspauth %s, %v, want %s", tok.Name, rspauth, err, h.RspAuth)
			}
			if err := client.Verify(rspauth); err != nil {
				t.Errorf("%s: %v", tok.Name, err)
			}
			if err := client.Verify([]byte("rspauth=00000000000000000000000000000000")); err == nil {
				t.Errorf("%s: a wrong proof was accepted", tok.Name)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d handshakes were compared", n)
	}
}

func TestAnExchangeHappensOnce(t *testing.T) {
	server, err := NewServer(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := NewClient("u", "p", nil, nil)
	response, err := client.Respond(server.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Respond(server.Challenge()); err == nil {
		t.Error("a second challenge was answered")
	}
	password := func(string) (string, error) { return "p", nil }
	if _, err := server.Evaluate(response, password); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Evaluate(response, password); err == nil {
		t.Error("a response was accepted twice")
	}
	if err := NewClient("u", "p", nil, nil).Verify([]byte("rspauth=")); err == nil {
		t.Error("a proof was accepted before the challenge")
	}
}

// Any user name, password and realm of quotes and odd characters gets through, and no other password does.
func TestAnyNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user, pw := rapid.String().Draw(t, "user"), rapid.String().Draw(t, "password")
		wrong := rapid.String().Filter(func(s string) bool { return s != pw }).Draw(t, "wrong")
		for _, c := range []struct {
			pw string
			ok bool
		}{{pw, true}, {wrong, false}} {
			server, err := NewServer(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := NewClient(user, c.pw, nil, nil).Respond(server.Challenge())
			if err != nil {
				t.Fatal(err)
			}
			_, err = server.Evaluate(response, func(name string) (string, error) {
				if name != user {
					t.Fatalf("user %q came as %q", user, name)
				}
				return pw, nil
			})
			if (err == nil) != c.ok {
				t.Fatalf("password %q for %q: %v", c.pw, pw, err)
			}
		}
	})
}

func TestIdentifierOfUsername(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SliceOf(rapid.Byte()).Draw(t, "identifier")
		if got := Identifier(Username(id)); !bytes.Equal(got, id) {
			t.Fatalf("%x came back as %x", id, got)
		}
	})
	for in, want := range map[string]string{
		"//4=":      "fffe",
		"__4":       "fffe", // the URL-safe alphabet
		"/ /\n4=":   "fffe",
		"//4=AAAA":  "fffe",
		"A":         "",
		"=":         "",
		"\xff!AAAA": "000000",
	} {
		if got := hex.EncodeToString(Identifier(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func FuzzServer(f *testing.F) {
	f.Add([]byte(`charset=utf-8,username="dQ==",realm="default",nonce="n",nc=00000001,cnonce="c",digest-uri="/default",maxbuf=65536,response=00,qop=auth`))
	f.Add([]byte(`a="\\`))
	f.Add([]byte("garbage"))
	f.Fuzz(func(t *testing.T, response []byte) {
		server := &Server{nonce: "n", qualities: Qualities{Authentication, Integrity, Privacy}}
		if rspauth, err := server.Evaluate(response, func(string) (string, error) { return "secret", nil }); err == nil {
			t.Errorf("%q was accepted: %s", response, rspauth)
		}
	})
}

func FuzzClient(f *testing.F) {
	f.Add([]byte(`realm="default",nonce="n",qop="auth",charset=utf-8,algorithm=md5-sess`), []byte("rspauth=00"))
	f.Add([]byte(`nonce=,algorithm=md5-sess,realm=a,realm=b`), []byte(`rspauth="`))
	f.Fuzz(func(t *testing.T, challenge, rspauth []byte) {
		client := NewClient("user", "secret", nil, nil)
		if response, err := client.Respond(challenge); err == nil {
			if _, err := parse(response, responseNames, nil); err != nil {
				t.Errorf("response %q to %q doesn't parse: %v", response, challenge, err)
			}
		}
		if client.Verify(rspauth) == nil {
			t.Errorf("%q was accepted as proof", rspauth)
		}
	})
}

func BenchmarkExchange(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		server, err := NewServer(nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		client := NewClient("user", "secret", nil, nil)
		response, err := client.Respond(server.Challenge())
		if err != nil {
			b.Fatal(err)
		}
		rspauth, err := server.Evaluate(response, func(string) (string, error) { return "secret", nil })
		if err != nil {
			b.Fatal(err)
		}
		if err := client.Verify(rspauth); err != nil {
			b.Fatal(err)
		}
	}
}
