package sasl

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"heddle/yarn/pb"
)

// conversation is a recorded one of a stock ApplicationMaster and ResourceManager: its exchange, and each token with what is in it.
type conversation struct {
	challenge, response, rspauth string
	password                     []byte
	tokens                       []token
}

type token struct {
	client          bool
	message, sealed []byte
}

func loadConversation(t testing.TB, name string) (c conversation) {
	t.Helper()
	read := func(file string) []string {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	var messages [][]byte
	for _, line := range read(name + ".txt") {
		switch text, isPassword := strings.CutPrefix(line, "password "); {
		case isPassword:
			c.password = mustHex(t, text)
		case strings.HasPrefix(line, "["):
			messages = append(messages, mustHex(t, line[strings.LastIndexByte(line, ' ')+1:]))
		}
	}
	for _, line := range read(name + ".frames") {
		columns := strings.Split(line, "\t")
		if len(columns) != 5 || columns[0] == "0" {
			continue
		}
		m := saslMessage(t, mustHex(t, columns[4])[4:])
		switch m.GetState() {
		case pb.RpcSasl_NEGOTIATE:
			for _, a := range m.GetAuths() {
				c.challenge = string(a.GetChallenge())
			}
		case pb.RpcSasl_INITIATE:
			c.response = string(m.GetToken())
		case pb.RpcSasl_SUCCESS:
			c.rspauth = string(m.GetToken())
		case pb.RpcSasl_WRAP:
			c.tokens = append(c.tokens, token{columns[1] == "C", messages[len(c.tokens)], m.GetToken()})
		}
	}
	return c
}

// saslMessage is the message of a packet, behind its header.
func saslMessage(t testing.TB, packet []byte) *pb.RpcSasl {
	t.Helper()
	_, n := protowire.ConsumeBytes(packet)
	body, m := protowire.ConsumeBytes(packet[max(n, 0):])
	if n < 0 || m < 0 {
		t.Fatalf("packet %x", packet)
	}
	var out pb.RpcSasl
	if err := proto.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Both sides open each token that stock's peers made, and make the same ones, byte for byte.
func TestRecordedProtections(t *testing.T) {
	for name, quality := range map[string]Quality{"auth-int": Integrity, "auth-conf-3des": Privacy} {
		c := loadConversation(t, name)
		client := NewClient(between(c.response, `username="`, `"`), Password(c.password), Qualities{quality}, fixed(t, between(c.response, `cnonce="`, `"`)))
		response, err := client.Respond([]byte(c.challenge))
		if err != nil || string(response) != c.response {
			t.Fatalf("%s: response %s, %v, want %s", name, response, err, c.response)
		}
		server, err := NewServer(Qualities{quality}, fixed(t, between(c.challenge, `nonce="`, `"`)))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(c.challenge, "3des,rc4,des,rc4-56,rc4-40", "3des,rc4,aes-ctr", 1); string(server.Challenge()) != want {
			t.Errorf("%s: challenge %s, want %s", name, server.Challenge(), want)
		}
		rspauth, err := server.Evaluate([]byte(c.response), func(string) (string, error) { return Password(c.password), nil })
		if err != nil || string(rspauth) != c.rspauth {
			t.Fatalf("%s: rspauth %s, %v, want %s", name, rspauth, err, c.rspauth)
		}
		if err := client.Verify(rspauth); err != nil {
			t.Fatal(err)
		}
		from, to := client.Protection(), server.Protection()
		for i, k := range c.tokens {
			a, b := from, to
			if !k.client {
				a, b = to, from
			}
			sealed, err := a.Wrap([]byte("before"), k.message)
			if err != nil || !bytes.Equal(sealed, append([]byte("before"), k.sealed...)) {
				t.Fatalf("%s: token %d: %x, %v, want %x", name, i, sealed, err, k.sealed)
			}
			message, err := b.Unwrap(bytes.Clone(k.sealed))
			if err != nil || !bytes.Equal(message, k.message) {
				t.Fatalf("%s: message %d: %x, %v, want %x", name, i, message, err, k.message)
			}
		}
		if len(c.tokens) < 40 {
			t.Errorf("%s: only %d tokens", name, len(c.tokens))
		}
	}
}

// pair is a client and a server that have agreed on a quality.
func pair(t testing.TB, quality Quality, cipher string) (client, server Protection) {
	t.Helper()
	d := digest{username: "user", password: "secret", nonce: "n", cnonce: "c", nc: firstUse, uri: digestURI, qop: quality.qop(), cipher: cipher, maxBuffer: defaultBuffer}
	return d.protection(true), d.protection(false)
}

var protections = []struct {
	quality Quality
	cipher  string
}{{Integrity, ""}, {Privacy, cipherAES}, {Privacy, cipher3DES}, {Privacy, cipherRC4}}

// Messages of any length get through in both directions. A token that is changed, repeated, left out or sent back isn't taken.
func TestProtectedMessages(t *testing.T) {
	for _, p := range protections {
		rapid.Check(t, func(rt *rapid.T) {
			client, server := pair(t, p.quality, p.cipher)
			for range rapid.IntRange(1, 5).Draw(rt, "messages") {
				message := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(rt, "message")
				for _, way := range [][2]Protection{{client, server}, {server, client}} {
					sealed, err := way[0].Wrap(nil, message)
					if err != nil {
						rt.Fatal(err)
					}
					if p.quality == Privacy && len(message) > 4 && bytes.Contains(sealed, message) {
						rt.Fatalf("%x is readable in %x", message, sealed)
					}
					got, err := way[1].Unwrap(sealed)
					if err != nil || !bytes.Equal(got, message) {
						rt.Fatalf("%x, %v, want %x", got, err, message)
					}
				}
			}
			message := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(rt, "last message")
			sealed, _ := client.Wrap(nil, message)
			next, _ := client.Wrap(nil, message)
			wrong := map[string][]byte{"own token": bytes.Clone(sealed), "left out": next}
			receiver := map[string]Protection{"own token": client, "left out": server}
			which := rapid.SampledFrom([]string{"own token", "left out", "changed", "cut", "repeated"}).Draw(rt, "attack")
			switch which {
			case "changed":
				i := rapid.IntRange(0, len(sealed)-1).Draw(rt, "at")
				sealed[i] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
				wrong[which], receiver[which] = sealed, server
			case "cut":
				wrong[which], receiver[which] = sealed[:rapid.IntRange(0, len(sealed)-1).Draw(rt, "length")], server
			case "repeated":
				if _, err := server.Unwrap(bytes.Clone(sealed)); err != nil {
					rt.Fatal(err)
				}
				wrong[which], receiver[which] = sealed, server
			}
			if got, err := receiver[which].Unwrap(wrong[which]); err == nil {
				rt.Fatalf("%s: %x was taken", which, got)
			}
		})
	}
}

// A client takes the first of its own qualities that the server offers, and neither side takes less than it is set to.
func TestQualitiesAreAgreedOn(t *testing.T) {
	for _, c := range []struct {
		server, client string
		want           Quality // 0: none
	}{
		{"authentication", "authentication", Authentication},
		{"privacy,authentication", "authentication", Authentication},
		{"privacy,authentication", "authentication,privacy", Authentication},
		{"privacy,authentication", "integrity,privacy", Privacy},
		{"privacy, Integrity", "integrity,privacy", Integrity},
		{"privacy,authentication", "integrity", 0},
		{"authentication", "privacy", 0},
		{"privacy", "authentication", 0},
	} {
		offered, err := ParseQualities(c.server)
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := ParseQualities(c.client)
		if err != nil {
			t.Fatal(err)
		}
		server, err := NewServer(offered, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := NewClient("user", "secret", accepted, nil)
		response, err := client.Respond(server.Challenge())
		if (err == nil) != (c.want != 0) {
			t.Errorf("%s and %s: %v", c.server, c.client, err)
		}
		if err == nil && !strings.Contains(string(response), ",qop="+c.want.qop()) {
			t.Errorf("%s and %s: %s", c.server, c.client, response)
		}
	}
	for _, text := range []string{"", "none", "privacy,", "privacy authentication"} {
		if q, err := ParseQualities(text); err == nil {
			t.Errorf("%q: %v", text, q)
		}
	}
}

// A server refuses a quality, a cipher and a buffer that it didn't offer or can't use, also from a client that knows the password.
func TestDowngradesAreRefused(t *testing.T) {
	all := Qualities{Privacy, Integrity}
	for _, c := range []struct {
		qop, cipher, maxbuf string
		ok                  bool
	}{
		{"auth-conf", "3des", "65536", true},
		{"auth-conf", "rc4", "65536", true},
		{"auth-int", "", "256", true},
		{"auth", "", "65536", false},
		{"auth-conf", "des", "65536", false},
		{"auth-conf", "", "65536", false},
		{"auth-conf", "rc4-40", "65536", false},
		{"auth-int", "", "255", false},
		{"auth-int", "", "-1", false},
	} {
		server, err := NewServer(all, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := digest{username: "user", password: "secret", realm: Realm, nonce: server.nonce, cnonce: "c", nc: firstUse, uri: digestURI, qop: c.qop}
		response := `username="user",realm="default",nonce="` + server.nonce + `",cnonce="c",nc=00000001,digest-uri="/default",qop=` + c.qop +
			",cipher=\"" + c.cipher + "\",maxbuf=" + c.maxbuf + ",response=" + d.sum("AUTHENTICATE")
		_, err = server.Evaluate([]byte(response), func(string) (string, error) { return "secret", nil })
		if (err == nil) != c.ok {
			t.Errorf("%s %s %s: %v", c.qop, c.cipher, c.maxbuf, err)
		}
		if p := server.Protection(); (p != nil) != c.ok {
			t.Errorf("%s %s %s: protection %v", c.qop, c.cipher, c.maxbuf, p)
		}
	}
	for _, challenge := range []string{
		`realm="default",nonce="n",qop="auth-conf",cipher="des,rc4-40",algorithm=md5-sess`,
		`realm="default",nonce="n",qop="auth-conf",algorithm=md5-sess`,
		`realm="default",nonce="n",qop="auth-int",maxbuf=16,algorithm=md5-sess`,
		`realm="default",nonce="n",algorithm=md5-sess`,
	} {
		if response, err := NewClient("user", "secret", all, nil).Respond([]byte(challenge)); err == nil {
			t.Errorf("%s: %s", challenge, response)
		}
	}
}

// Keys of DES have odd parity, whatever bytes they come from.
func TestParityOfKeys(t *testing.T) {
	if got := hex.EncodeToString(desKey(mustHex(t, "00ff0f10ffffff"))); got != "017fc2e30efefefe" {
		t.Errorf("got %s", got)
	}
}

func FuzzUnwrap(f *testing.F) {
	for i, name := range []string{"auth-int", "auth-conf-3des"} {
		for _, k := range loadConversation(f, name).tokens[:6] {
			f.Add(byte(i), k.sealed)
		}
	}
	f.Add(byte(2), []byte{})
	f.Fuzz(func(t *testing.T, which byte, sealed []byte) {
		p := protections[int(which)%len(protections)]
		_, server := pair(t, p.quality, p.cipher)
		if message, err := server.Unwrap(sealed); err == nil {
			t.Errorf("%x was taken", message)
		}
	})
}

func FuzzParseQualities(f *testing.F) {
	for _, text := range []string{"authentication", "privacy,integrity", "", ","} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if q, err := ParseQualities(text); err == nil && (len(q) == 0 || len(q) > 3 || q.Mask()&^(Authentication|Integrity|Privacy) != 0) {
			t.Errorf("%q: %v", text, q)
		}
	})
}

// Heddle's peers agree on AES. Others choose among what they know.
func TestPeersOfHeddleEncryptByAES(t *testing.T) {
	server, err := NewServer(Qualities{Privacy}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, offered := range map[string]string{
		cipherAES: string(server.Challenge()), cipher3DES: strings.Replace(string(server.Challenge()), "3des,rc4,aes-ctr", "3des,rc4,des,rc4-56,rc4-40", 1),
	} {
		client := NewClient("user", "secret", Qualities{Privacy}, nil)
		response, err := client.Respond([]byte(offered))
		if err != nil {
			t.Fatal(err)
		}
		if got := between(string(response), `cipher="`, `"`); got != want {
			t.Errorf("%q of %s", got, offered)
		}
	}
	java := NewClient("user", "secret", Qualities{Privacy}, nil)
	java.AsJava()
	if response, err := java.Respond(server.Challenge()); err != nil || !strings.Contains(string(response), `cipher="3des"`) {
		t.Errorf("like Java's: %s, %v", response, err)
	}
}

func BenchmarkProtection(b *testing.B) {
	for _, p := range protections {
		b.Run(p.quality.String()+p.cipher, func(b *testing.B) {
			client := newProtection([md5.Size]byte{}, p.quality, p.cipher, true, defaultBuffer)
			server := newProtection([md5.Size]byte{}, p.quality, p.cipher, false, defaultBuffer)
			message, token := make([]byte, 4096), make([]byte, 0, 8192)
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				sealed, err := client.Wrap(token, message)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := server.Unwrap(sealed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
