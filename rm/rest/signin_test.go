package rest

import (
	"encoding/json"
	"net/http"
	"testing"

	"heddle/rm"
	"heddle/yarn/rest/auth/openid/openidtest"
)

// Who has signed in at a provider is known on a ResourceManager's pages and REST, and a name in a request counts nothing.
func TestWhoHasSignedInIsKnown(t *testing.T) {
	c, ids := settings(t, 1, "")
	addr, _ := c.Get(rm.WebAddress)
	at := "http://" + addr
	provider := openidtest.Start(t, at+"/openid/callback")
	c.Set("heddle.openid.issuer", provider.Issuer)
	c.Set("heddle.openid.client-id", openidtest.Client)
	c.Set("heddle.openid.client-secret", openidtest.Secret)
	startWith(t, c, ids).leader()

	browser := openidtest.Browser(t)
	answer, err := provider.SignIn(browser, at+"/ws/v1/cluster/info", openidtest.User, openidtest.Password)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Request.URL.String() != at+"/ws/v1/cluster/info" {
		t.Fatalf("it ends with %s at %s", answer.Status, answer.Request.URL)
	}
	r, err := http.NewRequest(http.MethodGet, at+"/ws/v1/heddle/whoami?user.name=root", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(browser.Jar.Cookies(answer.Request.URL)[0])
	r.Header.Set("Accept", "application/json")
	for _, want := range []struct {
		status int
		user   any
	}{{http.StatusOK, openidtest.User}, {http.StatusUnauthorized, nil}} {
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Whoami map[string]any }
		_ = json.NewDecoder(answer.Body).Decode(&said) // a refusal is a page
		_ = answer.Body.Close()
		if answer.StatusCode != want.status || said.Whoami["user"] != want.user || said.Whoami["asks"] == true {
			t.Errorf("got %s, %v; want %d, %v", answer.Status, said.Whoami, want.status, want.user)
		}
		r.Header.Del("Cookie")
	}
}
