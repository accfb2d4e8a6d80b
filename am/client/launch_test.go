package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"heddle/yarn/pb"
	"heddle/yarn/token"
)

func TestLaunchContext(t *testing.T) {
	creds := &token.Credentials{}
	creds.SetSecret("s", []byte{1})
	got, err := Launch{
		Command: []string{"run", "1><LOG_DIR>/stdout"}, Env: map[string]string{"B": "2", "A": "1"},
		Resources: map[string]Resource{"dir/x": {
			URL: "hdfs://nn:8020/a b/%41?#x", Size: 5, ModTime: 77, Type: Archive, Visibility: Private,
		}},
		ServiceData: map[string][]byte{"s": {9}}, Credentials: creds,
		ACLs: map[pb.ApplicationAccessType]string{pb.ApplicationAccessType_APPACCESS_VIEW_APP: "*"},
	}.PB()
	if err != nil {
		t.Fatal(err)
	}
	if r := got.GetLocalResources()[0]; r.GetKey() != "dir/x" || r.GetValue().GetResource().GetFile() != "/a b/%41?#x" ||
		r.GetValue().GetResource().GetHost() != "nn" || r.GetValue().GetResource().GetPort() != 8020 ||
		r.GetValue().GetTimestamp() != 77 || r.GetValue().GetType() != Archive {
		t.Errorf("resource: %v", r)
	}
	if e := got.GetEnvironment(); len(e) != 2 || e[0].GetKey() != "A" || e[1].GetValue() != "2" {
		t.Errorf("environment: %v", e)
	}
	back, err := token.DecodeCredentials(got.GetTokens())
	if err != nil || len(back.Secrets) != 1 {
		t.Errorf("credentials: %v, %v", back, err)
	}
	b, err := proto.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	again := &pb.ContainerLaunchContext{}
	if err := proto.Unmarshal(b, again); err != nil || !cmp.Equal(got, again, protocmp.Transform()) {
		t.Errorf("%v: %s", err, cmp.Diff(got, again, protocmp.Transform()))
	}
}

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		in, host, file string
		port           int32
		bad            bool
	}{
		{in: "file:///a/b", file: "/a/b", port: -1},
		{in: "hdfs://ns/a", host: "ns", file: "/a", port: -1},
		{in: "hdfs://[::1]:9000/a", host: "::1", file: "/a", port: 9000},
		{in: "/a", bad: true},
		{in: "hdfs://nn", bad: true},
		{in: "hdfs://nn:99999/a", bad: true},
		{in: "hdfs://nn:x/a", bad: true},
		{in: "://nn/a", bad: true},
	} {
		u, err := parseURL(c.in)
		if c.bad != (err != nil) {
			t.Errorf("%s: %v", c.in, err)
		}
		if err == nil && (u.GetHost() != c.host || u.GetFile() != c.file || u.GetPort() != c.port) {
			t.Errorf("%s: %v", c.in, u)
		}
	}
}

func TestCredentialsForContainers(t *testing.T) {
	c := &token.Credentials{}
	c.SetToken("", token.Token{Kind: token.KindAMRM})
	c.SetToken("hdfs", token.Token{Kind: token.KindHDFS})
	c.SetSecret("s", []byte{1})
	got := WithoutMasterToken(c)
	if _, has := got.OfKind(token.KindAMRM); has || len(got.Tokens) != 1 || len(got.Secrets) != 1 {
		t.Errorf("%+v", got)
	}
}
