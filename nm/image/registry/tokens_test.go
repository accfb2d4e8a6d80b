package registry

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/pb"
	"heddle/yarn/token"
)

// credentials are those that Hadoop's clients make of a config.json.
func credentials(t testing.TB, registry, login string) []byte {
	t.Helper()
	id := &pb.DockerCredentialTokenIdentifier{}
	id.SetRegistryUrl(registry)
	id.SetApplicationId("application_1_0001")
	b, err := proto.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	c := &token.Credentials{}
	c.SetToken(registry+"-application_1_0001", token.Token{Identifier: b, Password: []byte(login), Kind: TokenKind, Service: registry})
	c.SetToken("other", token.Token{Kind: "OTHER", Password: []byte("x")})
	text, err := c.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Logins come in an application's credentials; they go before the node's.
func TestLoginsOfAnApplication(t *testing.T) {
	l, err := OfTokens(credentials(t, "https://index.docker.io/v1/", "YW5uOm9wZW4gc2VzYW1l"))
	if err != nil {
		t.Fatal(err)
	}
	if c := l.of("docker.io"); c.Username != user || c.Password != password {
		t.Errorf("%+v", c)
	}
	both := l.Over(config(t, `{"auths":{"docker.io":{"username":"node","password":"x"},"r:5000":{"username":"node","password":"x"}}}`))
	if both.of("docker.io").Username != user || both.of("r:5000").Username != "node" {
		t.Errorf("%+v", both.by)
	}
	if _, err := OfTokens(credentials(t, "r", "no base64")); err == nil {
		t.Error("a token without a name and a password is taken")
	}
}
