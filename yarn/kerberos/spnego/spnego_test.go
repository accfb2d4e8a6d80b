package spnego

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

// recorded is the answer of a stock ResourceManager to curl (accept-completed, krb5, an AP-REP).
const recorded = "Negotiate oYGFMIGCoAMKAQChCwYJKoZIhvcSAQICom4EbGBqBgkqhkiG9xIBAgICAG9bMFmgAwIBBaEDAgEPok0wS6ADAgESokQEQt8J3WZrvP98YOYM86SYkq386HvyZFKf8JZ4" +
	"CCM+yb1tA5qn4BfOvxYf/yewVDzK+fbbDYUFAmxGN2VbHPPM6r4nfQ=="

func TestAnswersAreThoseOfAStockServer(t *testing.T) {
	b, ok, err := FromHeader(recorded)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	reply, err := ParseAnswer(b)
	if err != nil || len(reply) != 108 || reply[0] != 0x60 {
		t.Fatalf("%x, %v", reply, err)
	}
	again, err := Request{mech: kerberos5}.Answer(reply)
	if err != nil || Header(again) != recorded {
		t.Errorf("got  %s\nwant %s, %v", Header(again), recorded, err)
	}
}

func TestRequests(t *testing.T) {
	ticket := bytes.Repeat([]byte("ticket"), 100)
	b, err := New(ticket)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(b)
	if err != nil || !bytes.Equal(r.Token, ticket) || r.bare {
		t.Errorf("%q, %v", r.Token, err)
	}
	bare, _ := hex.DecodeString("600d06092a864886f7120102020100")
	if r, err := Parse(bare); err != nil || !bytes.Equal(r.Token, bare) {
		t.Errorf("a token without SPNEGO: %x, %v", r.Token, err)
	}
	if answer, err := (Request{bare: true}).Answer([]byte("reply")); err != nil || string(answer) != "reply" {
		t.Errorf("its answer: %q, %v", answer, err)
	}
	for name, text := range map[string]string{
		"nothing":     "",
		"text":        "nonsense",
		"NTLM":        "TlRMTVNTUAABAAAA",
		"cut":         base64.StdEncoding.EncodeToString(b[:len(b)-1]),
		"longer":      base64.StdEncoding.EncodeToString(append(bytes.Clone(b), 0)),
		"no base64":   "%%%%",
		"other first": base64.StdEncoding.EncodeToString(bytes.Replace(b, []byte{0x2a, 0x86, 0x48, 0x86, 0xf7}, []byte{0x2a, 0x86, 0x48, 0x86, 0xf8}, 1)),
		"huge":        strings.Repeat("A", maxHeader+4),
	} {
		token, ok, err := FromHeader("negotiate " + text)
		if !ok {
			t.Errorf("%s: another scheme", name)
		}
		if err == nil {
			_, err = Parse(token)
		}
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, ok, err := FromHeader("Basic YTpi"); ok || err != nil {
		t.Errorf("Basic: %v, %v", ok, err)
	}
}

func FuzzParse(f *testing.F) {
	b, err := New([]byte("ticket"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(Header(b))
	f.Add(recorded)
	f.Add("Negotiate TlRMTVNTUAABAAAA")
	f.Fuzz(func(t *testing.T, value string) {
		token, ok, err := FromHeader(value)
		if !ok || err != nil {
			return
		}
		if r, err := Parse(token); err == nil {
			if len(r.Token) == 0 {
				t.Error("a request without a token")
			}
			if _, err := r.Answer(nil); err != nil {
				t.Error(err)
			}
		}
		_, _ = ParseAnswer(token)
	})
}
