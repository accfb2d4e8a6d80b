package token

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func TestRecordedCredentials(t *testing.T) {
	for _, c := range recorded(t).Credentials {
		for trailing := range 3 {
			in := append(append([]byte{}, c.Bytes...), make([]byte, 20*trailing)...)
			got, err := DecodeCredentials(in)
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			again, err := got.Encode(c.Format)
			if err != nil || !bytes.Equal(again, c.Bytes) {
				t.Errorf("%s: came back as %x, %v, want %x", c.Name, again, err, c.Bytes)
			}
			secret, ok := got.Secret(ShuffleSecretAlias)
			if !ok || len(secret) != 8 {
				t.Errorf("%s: shuffle secret %x", c.Name, secret)
			}
		}
	}
	am, err := DecodeCredentials(recorded(t).Credentials[0].Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if tok, ok := am.OfKind(KindAMRM); !ok || tok.Service != "" || am.Tokens[0].Alias != "" {
		t.Errorf("AMRM token %v", tok)
	}
	if tok, ok := am.OfKind(KindNM); ok {
		t.Errorf("there is a token %v", tok)
	}
}

func TestCredentialsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Credentials
		for _, alias := range rapid.SliceOfDistinct(rapid.String(), rapid.ID).Draw(t, "tokens") {
			c.SetToken(alias, anyToken().Draw(t, "token"))
		}
		for _, alias := range rapid.SliceOfDistinct(rapid.String(), rapid.ID).Draw(t, "secrets") {
			c.SetSecret(alias, rapid.SliceOf(rapid.Byte()).Draw(t, "secret"))
		}
		for _, f := range []Format{FormatWritable, FormatProtobuf} {
			b, err := c.Encode(f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeCredentials(append(b, rapid.SliceOf(rapid.Byte()).Draw(t, "trailing")...))
			if err != nil || len(got.Tokens) != len(c.Tokens) || len(got.Secrets) != len(c.Secrets) {
				t.Fatalf("format %d: got %v, %v, want %v", f, got, err, c)
			}
			for i, want := range c.Tokens {
				if got.Tokens[i].Alias != want.Alias || !got.Tokens[i].Token.Equal(want.Token) {
					t.Fatalf("format %d: token %v, want %v", f, got.Tokens[i], want)
				}
			}
			for i, want := range c.Secrets {
				if got.Secrets[i].Alias != want.Alias || !bytes.Equal(got.Secrets[i].Secret, want.Secret) {
					t.Fatalf("format %d: secret %v, want %v", f, got.Secrets[i], want)
				}
			}
		}
	})
}

func TestTheLastOfAnAliasCounts(t *testing.T) {
	var c Credentials
	c.SetToken("a", Token{Kind: "1"})
	c.SetToken("b", Token{Kind: "2"})
	c.SetToken("a", Token{Kind: "3"})
	c.SetSecret("s", []byte{1})
	c.SetSecret("s", []byte{2})
	if len(c.Tokens) != 2 || c.Tokens[0].Token.Kind != "3" || len(c.Secrets) != 1 || c.Secrets[0].Secret[0] != 2 {
		t.Errorf("got %+v", c)
	}
	twice := Credentials{
		Tokens:  []NamedToken{{"a", Token{Kind: "1"}}, {"a", Token{Kind: "2"}}},
		Secrets: []NamedSecret{{"s", []byte{1}}, {"s", []byte{2}}},
	}
	for _, f := range []Format{FormatWritable, FormatProtobuf} {
		b, err := twice.Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeCredentials(b)
		if err != nil || len(got.Tokens) != 1 || got.Tokens[0].Token.Kind != "2" || len(got.Secrets) != 1 || got.Secrets[0].Secret[0] != 2 {
			t.Errorf("format %d: got %+v, %v", f, got, err)
		}
	}
}

func TestWrongCredentials(t *testing.T) {
	for _, b := range []string{
		"", "HDT", "HDTS", "XXXX\x00\x00\x00", "HDTS\x02\x00\x00", "HDTS\x00", "HDTS\x00\x01", "HDTS\x00\x00",
		"HDTS\x00\x01\x01a", "HDTS\x00\x00\x01\x01a\xff", "HDTS\x01", "HDTS\x01\x05", "HDTS\x01\x02\x0a\x00",
		"HDTS\x00\x8c\x7f\xff\xff\xff",
	} {
		if c, err := DecodeCredentials([]byte(b)); err == nil {
			t.Errorf("%q was read as %+v", b, c)
		}
	}
	if b, err := (&Credentials{}).Encode(7); err == nil {
		t.Errorf("format 7 was written as %x", b)
	}
}

func FuzzCredentials(f *testing.F) {
	for _, c := range recorded(f).Credentials {
		f.Add([]byte(c.Bytes))
	}
	f.Add([]byte("HDTS\x00\x8c\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCredentials(b)
		if err != nil {
			return
		}
		for _, format := range []Format{FormatWritable, FormatProtobuf} {
			enc, err := c.Encode(format)
			if err != nil {
				t.Fatal(err)
			}
			again, err := DecodeCredentials(enc)
			if err != nil || !proto.Equal(again.PB(), c.PB()) {
				t.Fatalf("format %d: %+v came back as %+v, %v", format, c, again, err)
			}
		}
	})
}
