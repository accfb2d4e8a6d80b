package browser

import (
	"net"
	"strings"
	"testing"

	"heddle/integration/minicluster"
	"heddle/internal/ports"
	"heddle/rm"
	"heddle/yarn/rest/auth/openid/openidtest"
)

// A reader signs in on the provider's page, comes back to the page that was asked for, and signs out, after which the provider is asked again.
func TestAReaderSignsInAtAProvider(t *testing.T) {
	_, port, err := net.SplitHostPort(ports.Loopback(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	at := "http://localhost:" + port
	provider := openidtest.Start(t, at+"/openid/callback")
	c := minicluster.Start(t, 1, map[string]string{
		rm.WebAddress: "localhost:" + port, "heddle.openid.issuer": provider.Issuer, "heddle.openid.client-id": openidtest.Client,
		"heddle.openid.client-secret": openidtest.Secret,
	})
	c.Node(minicluster.NodeOptions{})
	tab := Open(t, 1400, 900)
	signIn := func(password string) {
		t.Helper()
		tab.Until(`document.title === "Login"`)
		tab.Type("#username", openidtest.User)
		tab.Type("#password", password)
		tab.Click("button")
	}
	tab.Go(at + "/cluster/nodes")
	signIn("a wrong one")
	tab.Until(`document.title === "Login" && document.querySelector("p").textContent !== ""`)
	signIn(openidtest.Password)
	tab.Until(`location.href === "` + at + `/cluster/nodes" && document.querySelector("#who")?.textContent.includes("` + openidtest.User + `")`)
	tab.Go(at + "/cluster/apps")
	tab.Until(`document.querySelector("#who")?.textContent.includes("` + openidtest.User + `")`)
	var cookies string
	if tab.Eval("document.cookie", &cookies); strings.Contains(cookies, "hadoop.auth") {
		t.Errorf("scripts read the cookie: %s", cookies)
	}
	tab.Click("#who summary")
	tab.Click("#who button")
	tab.Until(`document.title === "Login" && location.origin === "` + provider.Issuer + `"`)
	tab.Go(at + "/cluster")
	tab.Until(`document.title === "Login"`)
}

// A page whose login ends goes to the provider by itself, and comes back after another login. Soon afterwards it doesn't: it says what is the matter, with a link.
func TestAPageWhoseLoginEnds(t *testing.T) {
	_, port, err := net.SplitHostPort(ports.Loopback(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	at := "http://localhost:" + port
	provider := openidtest.Start(t, at+"/openid/callback")
	c := minicluster.Start(t, 1, map[string]string{
		rm.WebAddress: "localhost:" + port, "heddle.openid.issuer": provider.Issuer, "heddle.openid.client-id": openidtest.Client,
		"heddle.openid.client-secret": openidtest.Secret,
	})
	c.Node(minicluster.NodeOptions{})
	tab := Open(t, 1400, 900)
	tab.Go(at + "/cluster/nodes")
	for range 2 { // the second time because the login has ended
		tab.Until(`document.title === "Login"`)
		tab.Type("#username", openidtest.User)
		tab.Type("#password", openidtest.Password)
		tab.Click("button")
		tab.Until(`location.href === "` + at + `/cluster/nodes" && document.querySelector("#who")?.textContent.includes("` + openidtest.User + `")`)
		tab.call("Network.clearBrowserCookies", nil, nil)
		tab.Eval(`dispatchEvent(new PopStateEvent("popstate"))`, nil) // ask at once
	}
	tab.Until(`document.querySelector(".notice a")?.textContent === "Sign in again"`)
	tab.Click(".notice a")
	tab.Until(`document.title === "Login"`)
}
