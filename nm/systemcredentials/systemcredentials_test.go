package systemcredentials

import (
	"slices"
	"strings"
	"testing"

	"heddle/nm/application"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func encode(t *testing.T, c token.Credentials) []byte {
	t.Helper()
	b, err := c.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func hdfs(service, password string) token.NamedToken {
	return token.NamedToken{Alias: service, Token: token.Token{Kind: token.KindHDFS, Service: service, Password: []byte(password)}}
}

func message(app records.ApplicationID, credentials []byte) *pb.SystemCredentialsForApps {
	m := &pb.SystemCredentialsForApps{}
	m.SetAppId(app.PB())
	m.SetCredentialsForApp(credentials)
	return m
}

// What the node reads for a user it reads with that user's tokens, and never with another's. A newer application's come first.
func TestTokensOfAUser(t *testing.T) {
	var h Held
	app := func(id int32, user, password string) application.Info {
		return application.Info{ID: records.ApplicationID{ID: id}, User: user, Tokens: encode(t, token.Credentials{Tokens: []token.NamedToken{hdfs("nn:8020", password)}})}
	}
	apps := []application.Info{app(1, "alice", "old"), app(2, "bob", "bob's"), app(3, "alice", "new"), {ID: records.ApplicationID{ID: 4}, User: "alice", Tokens: []byte("damaged")}}
	var got []string
	for _, tok := range h.OfUser("alice", apps) {
		got = append(got, string(tok.Password))
	}
	if !slices.Equal(got, []string{"new", "old"}) {
		t.Errorf("alice's tokens are %q", got)
	}
	if len(h.OfUser("", apps)) != 0 {
		t.Error("a user without a name has tokens")
	}
}

// The ResourceManager's token stands for the container's of the same NameNode. What else the container brought stays.
func TestTokensOfTheResourceManagerComeFirst(t *testing.T) {
	app, other := records.ApplicationID{ClusterTimestamp: 1, ID: 1}, records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	own := encode(t, token.Credentials{
		Tokens:  []token.NamedToken{hdfs("a:1", "old"), hdfs("b:1", "kept"), {Alias: "job", Token: token.Token{Kind: token.KindJob}}},
		Secrets: []token.NamedSecret{{Alias: "s", Secret: []byte("secret")}},
	})
	var h Held
	if got := h.For(app, own); string(got) != string(own) {
		t.Errorf("without any: %q", got)
	}
	err := h.Set([]*pb.SystemCredentialsForApps{message(app, encode(t, token.Credentials{Tokens: []token.NamedToken{hdfs("a:1", "new")}})), message(other, []byte("nonsense"))})
	if err == nil || !strings.Contains(err.Error(), other.String()) {
		t.Errorf("nonsense: %v", err)
	}
	check := func() {
		t.Helper()
		c, err := token.DecodeCredentials(h.For(app, own))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range c.Tokens {
			got = append(got, n.Token.Kind+" "+n.Token.Service+" "+string(n.Token.Password))
		}
		if want := "HDFS_DELEGATION_TOKEN a:1 new, HDFS_DELEGATION_TOKEN b:1 kept, mapreduce.job  "; strings.Join(got, ", ") != want || len(c.Secrets) != 1 {
			t.Errorf("%q, %v", got, c.Secrets)
		}
	}
	check()
	if err := h.Set(nil); err != nil { // most replies bring nothing
		t.Error(err)
	}
	check()
	if got := h.For(other, own); string(got) != string(own) {
		t.Errorf("another application: %q", got)
	}
	if c, err := token.DecodeCredentials(h.For(app, []byte("nonsense"))); err != nil || len(c.Tokens) != 1 {
		t.Errorf("a container with nonsense: %v, %v", c, err)
	}
}
