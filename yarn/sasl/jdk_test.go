package sasl

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"heddle/internal/needs"
)

// jdk is a Java process that plays the other side.
type jdk struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func startJDK(t *testing.T) *jdk {
	t.Helper()
	needs.Program(t, "java")
	cmd := exec.Command("java", "testdata/Peer.java")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &jdk{t, in, bufio.NewReader(out)}
}

// ask sends a line and returns what comes back.
func (j *jdk) ask(format string, args ...any) ([]byte, error) {
	j.t.Helper()
	if _, err := fmt.Fprintf(j.in, format+"\n", args...); err != nil {
		j.t.Fatal(err)
	}
	line, err := j.out.ReadString('\n')
	if err != nil {
		j.t.Fatal(err)
	}
	line = strings.TrimSuffix(line, "\n")
	if text, ok := strings.CutPrefix(line, "err "); ok {
		return nil, errors.New(text)
	}
	b, err := hex.DecodeString(strings.TrimPrefix(line, "ok "))
	if err != nil {
		j.t.Fatalf("%q: %v", line, err)
	}
	return b, nil
}

var (
	user   = Username([]byte("an identifier \x00\xff"))
	secret = Password([]byte("a password \x01\xfe"))
)

func knows(name string) (string, error) {
	if name != user {
		return "", fmt.Errorf("who is %s", name)
	}
	return secret, nil
}

func TestAgainstTheJDK(t *testing.T) {
	j := startJDK(t)
	t.Run("server", j.asServer)
	t.Run("client", j.asClient)
	t.Run("responses", j.responses)
	t.Run("challenges", j.challenges)
	t.Run("protections", j.protections)
}

func (j *jdk) asServer(t *testing.T) {
	for _, c := range []struct {
		password string
		ok       bool
	}{{secret, true}, {"wrong", false}} {
		challenge, err := j.ask("server %s %s", user, secret)
		if err != nil {
			t.Fatal(err)
		}
		client := NewClient(user, c.password, nil, nil)
		response, err := client.Respond(challenge)
		if err != nil {
			t.Fatal(err)
		}
		rspauth, err := j.ask("evaluate %x", response)
		if (err == nil) != c.ok {
			t.Fatalf("password %s: %v", c.password, err)
		}
		if c.ok {
			if err := client.Verify(rspauth); err != nil {
				t.Errorf("the JDK's proof: %v", err)
			}
		}
	}
}

func (j *jdk) asClient(t *testing.T) {
	for _, c := range []struct {
		password string
		ok       bool
	}{{secret, true}, {"wrong", false}} {
		if _, err := j.ask("client %s %s", user, c.password); err != nil {
			t.Fatal(err)
		}
		server, err := NewServer(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := j.ask("respond %x", server.Challenge())
		if err != nil {
			t.Fatal(err)
		}
		rspauth, err := server.Evaluate(response, knows)
		if (err == nil) != c.ok {
			t.Fatalf("password %s: %v", c.password, err)
		}
		if c.ok {
			if _, err := j.ask("respond %x", rspauth); err != nil {
				t.Errorf("our proof: %v", err)
			}
			if server.Username() != user {
				t.Errorf("user %q", server.Username())
			}
		}
	}
}

// Whatever a client sends, our server and the JDK's say the same. Where the JDK's fails by accident, with an exception
// of another kind, ours has to refuse as well. The JDK knows nc by the name of nonce-count only, and so ignores it; ours
// wants the one value that there can be.
func (j *jdk) responses(t *testing.T) {
	replace := strings.NewReplacer
	for name, change := range map[string]func(string) string{
		"right":                  func(s string) string { return s },
		"empty":                  func(string) string { return "" },
		"garbage":                func(string) string { return "garbage" },
		"only commas":            func(string) string { return ",, ,\t," },
		"commas around":          func(s string) string { return " ,," + s + ", ," },
		"spaces for commas":      func(s string) string { return strings.ReplaceAll(s, ",", " \r\n\t") },
		"spaces around =":        func(s string) string { return strings.Replace(s, "username=", "username \t= ", 1) },
		"upper-case names":       func(s string) string { return replace("username", "USERNAME", "nonce=", "Nonce=").Replace(s) },
		"no charset":             replace("charset=utf-8,", "").Replace,
		"other charset":          replace("utf-8", "latin1").Replace,
		"no username":            replace("username", "nosername").Replace,
		"username twice":         func(s string) string { return s + `,username="x"` },
		"unknown user":           replace(user, "bm9ib2R5").Replace,
		"no realm":               replace(`realm="default",`, "").Replace,
		"empty realm":            replace(`realm="default"`, `realm=""`).Replace,
		"other realm":            replace(`realm="default"`, `realm="other"`).Replace,
		"realm twice":            func(s string) string { return s + `,realm="default"` },
		"unquoted realm":         replace(`realm="default"`, `realm=default`).Replace,
		"escaped realm":          replace(`realm="default"`, `realm="\d\e\f\a\ult"`).Replace,
		"no nonce":               replace(",nonce=", ",n=").Replace,
		"other nonce":            replace(",nonce=\"", ",nonce=\"x").Replace,
		"no cnonce":              replace("cnonce=", "c=").Replace,
		"empty cnonce":           func(s string) string { return cut(s, `cnonce="`, `"`) },
		"cnonce twice":           func(s string) string { return s + `,cnonce="x"` },
		"no nc":                  replace("nc=00000001,", "").Replace,
		"nc 2":                   replace("nc=00000001", "nc=00000002").Replace,
		"short nc":               replace("nc=00000001", "nc=1").Replace,
		"nc not a number":        replace("nc=00000001", "nc=one").Replace,
		"no qop":                 replace(",qop=auth", "").Replace,
		"qop auth-int":           replace("qop=auth", "qop=auth-int").Replace,
		"qop auth-conf":          replace("qop=auth", "qop=auth-conf").Replace,
		"unknown qop":            replace("qop=auth", "qop=maybe").Replace,
		"quoted qop":             replace("qop=auth", `qop="auth"`).Replace,
		"no digest-uri":          replace(`digest-uri="/default",`, "").Replace,
		"other digest-uri":       replace(`digest-uri="/default"`, `digest-uri="/other"`).Replace,
		"upper-case digest-uri":  replace(`digest-uri="/default"`, `digest-uri="/DEFAULT"`).Replace,
		"no response":            func(s string) string { return cut(s, ",response=", ",") },
		"wrong response":         replace("response=", "response=0").Replace,
		"upper-case response":    func(s string) string { return upperResponse(s) },
		"response twice":         func(s string) string { return s + ",response=00" },
		"maxbuf not a number":    replace("maxbuf=65536", "maxbuf=big").Replace,
		"no maxbuf":              replace("maxbuf=65536,", "").Replace,
		"authzid of another":     func(s string) string { return s + `,authzid="bob"` },
		"unknown directive":      func(s string) string { return s + `,more=x,more=y` },
		"unmatched quote":        func(s string) string { return s + `,more="x` },
		"escape at the end":      func(s string) string { return s + `,more="x\` },
		"text behind a quote":    func(s string) string { return s + `,more="x"y` },
		"comma in a name":        func(s string) string { return "abc,def=" + s },
		"space in a name":        func(s string) string { return "abc def=1," + s },
		"space behind last name": func(s string) string { return s + ",abc " },
		"no name":                func(s string) string { return "=1," + s },
		"no value":               func(s string) string { return s + ",abc=" },
		"no value but spaces":    func(s string) string { return s + ",abc= " },
		"empty value":            func(s string) string { return "abc=," + s },
		"long":                   func(s string) string { return s + ",more=" + strings.Repeat("x", 4000) },
		"name at the end":        func(s string) string { return s + ",username" },
	} {
		t.Run(name, func(t *testing.T) {
			challenge, err := j.ask("server %s %s", user, secret)
			if err != nil {
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(string(challenge), `nonce="`)
			nonce, _, _ := strings.Cut(after, `"`)
			server := &Server{nonce: nonce}
			if got := string(server.Challenge()); got != string(challenge) {
				t.Errorf("challenge: got %s, want %s", got, challenge)
			}
			response, err := NewClient(user, secret, nil, nil).Respond(challenge)
			if err != nil {
				t.Fatal(err)
			}
			changed := change(string(response))
			if name != "right" && changed == string(response) {
				t.Fatal("nothing was changed")
			}
			want, wantErr := j.ask("evaluate %x", changed)
			if name == "nc 2" || name == "nc not a number" {
				want, wantErr = nil, violation("Nonce count does not match: "+map[bool]string{true: "00000002", false: "one"}[name == "nc 2"])
			}
			got, gotErr := server.Evaluate([]byte(changed), knows)
			if string(got) != string(want) {
				t.Errorf("got %s, want %s", got, want)
			}
			text := "<nil>"
			if e := (*Error)(nil); errors.As(gotErr, &e) {
				text = e.Text
			}
			if wantErr != nil && strings.HasPrefix(wantErr.Error(), "exception ") {
				if gotErr == nil {
					t.Errorf("accepted, the JDK says %v", wantErr)
				}
			} else if text != fmt.Sprint(wantErr) {
				t.Errorf("got %s, want %v", text, wantErr)
			}
		})
	}
}

// Whatever a server offers, our client and the JDK's agree on taking it.
func (j *jdk) challenges(t *testing.T) {
	const right = `realm="default",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`
	replace := func(old, new string) string { return strings.Replace(right, old, new, 1) }
	for name, challenge := range map[string]string{
		"right":             right,
		"empty":             "",
		"no realm":          replace(`realm="default",`, ""),
		"two realms":        `realm="first",` + right,
		"no nonce":          replace("nonce", "n"),
		"nonce twice":       right + `,nonce="x"`,
		"quotes in nonce":   replace(`"abc"`, `"a\"b\\c"`),
		"no qop":            replace(`qop="auth",`, ""),
		"several qops":      replace(`"auth"`, `"auth-conf, auth"`),
		"only auth-int":     replace(`"auth"`, `"auth-int"`),
		"qop twice":         right + `,qop="auth"`,
		"no charset":        replace("charset=utf-8,", ""),
		"other charset":     replace("utf-8", "latin1"),
		"no algorithm":      replace(",algorithm=md5-sess", ""),
		"other algorithm":   replace("md5-sess", "md5"),
		"algorithm twice":   right + ",algorithm=md5-sess",
		"unknown directive": right + ",more=x,more=y",
		"long":              right + ",more=" + strings.Repeat("x", 2048),
		"stale":             right + ",stale=true",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := j.ask("client %s %s", user, secret); err != nil {
				t.Fatal(err)
			}
			want, wantErr := j.ask("respond %x", challenge)
			got, gotErr := NewClient(user, secret, nil, nil).Respond([]byte(challenge))
			if (gotErr == nil) != (wantErr == nil) {
				t.Fatalf("got %v, want %v", gotErr, wantErr)
			}
			if wantErr == nil && shape(string(got)) != shape(string(want)) {
				t.Errorf("got %s, want %s", got, want)
			}
			if e := (*Error)(nil); errors.As(gotErr, &e) && name != "other algorithm" && e.Text != wantErr.Error() {
				t.Errorf("got %s, want %v", e.Text, wantErr)
			}
		})
	}
}

// cut removes what is between from and to.
func cut(s, from, to string) string {
	before, rest, _ := strings.Cut(s, from)
	_, after, _ := strings.Cut(rest, to)
	return before + from + to + after
}

func upperResponse(s string) string {
	before, rest, _ := strings.Cut(s, ",response=")
	hash, after, _ := strings.Cut(rest, ",")
	return before + ",response=" + strings.ToUpper(hash) + "," + after
}

// shape hides what is random.
func shape(s string) string { return cut(cut(s, `cnonce="`, `"`), "response=", ",") }

// The JDK's peers and ours read each other's protected messages, with each quality and cipher, as client and as server.
func (j *jdk) protections(t *testing.T) {
	for _, p := range protections {
		if p.cipher == cipherAES { // the JDK has none; it passes over our offer
			continue
		}
		ask := func(format string, args ...any) []byte {
			t.Helper()
			b, err := j.ask(format, args...)
			if err != nil {
				t.Fatalf("%v %s: %v", p.quality, p.cipher, err)
			}
			return b
		}
		ask("protect %s %s", p.quality.qop(), p.cipher)
		challenge := ask("server %s %s", user, secret)
		if p.cipher == cipherRC4 { // we would take 3des
			challenge = bytes.ReplaceAll(challenge, []byte("3des,"), nil)
		}
		client := NewClient(user, secret, Qualities{p.quality}, nil)
		response, err := client.Respond(challenge)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Verify(ask("evaluate %x", response)); err != nil {
			t.Fatal(err)
		}
		exchangeMessages(t, client.Protection(), ask)

		ask("client %s %s", user, secret)
		server, err := NewServer(Qualities{p.quality}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rspauth, err := server.Evaluate(ask("respond %x", server.Challenge()), knows)
		if err != nil {
			t.Fatal(err)
		}
		ask("respond %x", rspauth)
		exchangeMessages(t, server.Protection(), ask)
	}
}

// exchangeMessages sends messages of many lengths to the JDK and back.
func exchangeMessages(t *testing.T, p Protection, ask func(format string, args ...any) []byte) {
	t.Helper()
	for _, n := range []int{1, 2, 5, 6, 7, 8, 14, 1000, p.MaxMessage()} {
		message := bytes.Repeat([]byte{byte(n), 0xff}, n)[:n]
		sealed, err := p.Wrap(nil, message)
		if err != nil {
			t.Fatal(err)
		}
		if len(sealed) > defaultBuffer {
			t.Errorf("a token of %d bytes", len(sealed))
		}
		if got := ask("unwrap %x", sealed); !bytes.Equal(got, message) {
			t.Fatalf("%d bytes: the JDK read %.50x", n, got)
		}
		if got, err := p.Unwrap(ask("wrap %x", message)); err != nil || !bytes.Equal(got, message) {
			t.Fatalf("%d bytes of the JDK: %.50x, %v", n, got, err)
		}
	}
}
