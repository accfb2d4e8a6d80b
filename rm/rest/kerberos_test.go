package rest

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/internal/needs"
	"heddle/yarn/kerberos/kerberostest"
)

// curl makes a request with the ticket in a cache, if that isn't "".
func curl(t *testing.T, k *kerberostest.KDC, cache string, args ...string) answer {
	t.Helper()
	if cache != "" {
		args = append([]string{"--negotiate", "-u", ":"}, args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "curl", append([]string{"-s", "-i", "-H", "Accept: application/json"}, args...)...)
	c.Env = append(os.Environ(), "KRB5_CONFIG="+k.Conf, "KRB5CCNAME=FILE:"+cache)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("curl %q: %v", args, err)
	}
	head, body, _ := strings.Cut(string(out), "\r\n\r\n")
	if strings.HasPrefix(head, "HTTP/1.1 401") && strings.HasPrefix(body, "HTTP/1.1") { // curl's first request
		head, body, _ = strings.Cut(body, "\r\n\r\n")
	}
	a := answer{body: body, header: map[string][]string{}}
	for i, line := range strings.Split(head, "\r\n") {
		if i == 0 {
			a.status, _ = strconv.Atoi(strings.Fields(line)[1])
			continue
		}
		name, value, _ := strings.Cut(line, ": ")
		a.header.Add(name, value)
	}
	return a
}

// A secured cluster's web port towards curl, with a KDC: tickets, cookies, doAs, and delegation tokens in the words of a stock ResourceManager.
func TestWebUsersWithTickets(t *testing.T) {
	needs.Program(t, "curl")
	k := kerberostest.StartKDC(t, time.Hour)
	t.Setenv("KRB5_CONFIG", k.Conf)
	full := func(name string) string { return name + "@" + k.Realm }
	keys := k.Keytab("keytab", full("HTTP/localhost"), full("rm/localhost"), full("alice"), full("bob"), full("oozie"))
	c, ids := settings(t, 1, "",
		"hadoop.http.filter.initializers=org.apache.hadoop.security.AuthenticationFilterInitializer", "hadoop.http.authentication.type=kerberos",
		"hadoop.http.authentication.kerberos.principal="+full("HTTP/localhost"), "hadoop.http.authentication.kerberos.keytab="+keys,
		"yarn.resourcemanager.principal="+full("rm/localhost"), "yarn.resourcemanager.keytab="+keys, "yarn.nodemanager.principal="+full("nm/_HOST"),
		"hadoop.proxyuser.oozie.hosts=*", "hadoop.proxyuser.oozie.users=alice")
	c.Set("hadoop.security.authentication", "kerberos")
	cluster := startWith(t, c, ids)
	cluster.leader()
	caches := map[string]string{"": ""}
	for _, user := range []string{"alice", "bob", "oozie"} {
		k.Kinit(keys, full(user))
		caches[user] = filepath.Join(k.Dir, user)
		if err := os.Rename(k.Cache(), caches[user]); err != nil {
			t.Fatal(err)
		}
	}
	base, err := url.Parse(cluster.urls[ids[0]])
	if err != nil {
		t.Fatal(err)
	}
	as := func(user, method, path string, more ...string) answer {
		t.Helper()
		return curl(t, k, caches[user], append([]string{"-X", method, "http://localhost:" + base.Port() + path}, more...)...)
	}
	want := func(what string, a answer, status int, body string) {
		t.Helper()
		if a.status != status || !regexp.MustCompile(body).MatchString(a.body) {
			t.Errorf("%s: %d %s, want %d %s", what, a.status, a.body, status, body)
		}
	}
	want("nobody", as("", "GET", "/ws/v1/cluster/info"), 401, "Authentication required")
	want("nobody's kill", as("", "PUT", "/ws/v1/cluster/apps/application_1_0001/state?user.name=alice", "-d", "{}"), 401, "")
	want("nobody asks who leads", as("", "GET", "/isActive"), 200, "I am Active!")
	info := as("alice", "GET", "/ws/v1/cluster/info")
	want("alice", info, 200, "clusterInfo")
	cookie, _, _ := strings.Cut(info.header.Get("Set-Cookie"), ";")
	if !strings.HasPrefix(cookie, `hadoop.auth="u=alice&p=alice@HEDDLE.TEST&t=kerberos-dt&e=`) || !strings.HasPrefix(info.header.Get("WWW-Authenticate"), "Negotiate oY") {
		t.Errorf("alice gets %v", info.header)
	}
	want("alice's cookie", as("", "GET", "/ws/v1/cluster/info", "-H", "Cookie: "+cookie), 200, "clusterInfo")
	want("doAs", as("oozie", "GET", "/ws/v1/cluster/info?doAs=alice"), 200, "clusterInfo")
	want("doAs of bob", as("bob", "GET", "/ws/v1/cluster/info?doAs=alice"), 403, "User: bob@HEDDLE.TEST is not allowed to impersonate alice")

	const tokens, json = "/ws/v1/cluster/delegation-token", "Content-Type: application/json"
	got := as("alice", "POST", tokens, "-H", json, "-d", `{"renewer":"alice"}`)
	want("a token", got, 200, `^{"token":"[\w-]+","renewer":"alice","owner":"alice@HEDDLE.TEST","kind":"RM_DELEGATION_TOKEN","expiration-time":\d+,"max-validity":\d+}$`)
	text, _ := at(got.json(t), "token").(string)
	about := "Hadoop-YARN-RM-Delegation-Token: " + text
	want("by proxy", as("oozie", "POST", tokens+"?doAs=alice", "-H", json, "-d", `{"renewer":"yarn"}`), 200, `"owner":"alice"`)
	want("its bearer", as("", "GET", "/ws/v1/cluster/info?delegation="+text), 200, "clusterInfo")
	want("its bearer by a header", as("", "GET", "/ws/v1/cluster/info", "-H", "X-Hadoop-Delegation-Token: "+text), 200, "clusterInfo")
	want("another header", as("", "GET", "/ws/v1/cluster/info", "-H", about), 401, "Authentication required")
	want("a token by a token", as("", "POST", tokens+"?delegation="+text, "-H", json, "-d", "{}"), 403, "^Delegation token operations cannot be carried out using delegation token authentication.$")
	want("renewed", as("alice", "POST", tokens+"/expiration", "-H", about), 200, `^{"expiration-time":\d+}$`)
	want("renewed by bob", as("bob", "POST", tokens+"/expiration", "-H", about), 403, `^bob tries to renew a token \(RM_DELEGATION_TOKEN owner=alice@HEDDLE.TEST, renewer=alice, .* with non-matching renewer alice$`)
	want("no token renewed", as("alice", "POST", tokens+"/expiration"), 400, "java.lang.Exception: Header 'Hadoop-YARN-RM-Delegation-Token' containing encoded token not found")
	want("nonsense renewed", as("alice", "POST", tokens+"/expiration", "-H", "Hadoop-YARN-RM-Delegation-Token: nonsense"), 400, "Could not decode encoded token")
	want("cancelled by bob", as("bob", "DELETE", tokens, "-H", about), 403, `^bob@HEDDLE.TEST is not authorized to cancel the token \(RM_DELEGATION_TOKEN owner=alice@HEDDLE.TEST`)
	want("cancelled", as("alice", "DELETE", tokens, "-H", about), 200, "^$")
	want("its bearer later", as("", "GET", "/ws/v1/cluster/info?delegation="+text), 403, "InvalidToken: Token for real user: , can't be found in cache")

	got = as("alice", "GET", "/ws/v1/cluster/info?op=GETDELEGATIONTOKEN&renewer=alice")
	want("a token by op", got, 200, `^{"Token":{"urlString":"`)
	text, _ = at(got.json(t), "Token", "urlString").(string)
	want("renewed by op", as("alice", "PUT", "/ws/v1/cluster/info?op=RENEWDELEGATIONTOKEN&token="+text), 200, `^{"long":\d+}$`)
	want("cancelled by op", as("", "PUT", "/ws/v1/cluster/info?op=CANCELDELEGATIONTOKEN&token="+text), 200, "^$")
	want("cancelled twice", as("", "PUT", "/ws/v1/cluster/info?op=CANCELDELEGATIONTOKEN&token="+text), 404, "")
}
