package proxy

import (
	"net/http"
	"net/url"
	"strings"

	"heddle/yarn/rest"
)

// actions are elements of paths that make applications act although the request is a GET: YARN's proxy passes no POST on, so Spark
// kills jobs and stages by /jobs/job/kill/?id=0 and /stages/stage/kill/?id=0, and Flink ends jobs by /jobs/ID/yarn-cancel.
var actions = map[string]bool{
	"kill": true, "cancel": true, "stop": true, "terminate": true, "shutdown": true, "yarn-cancel": true, "yarn-stop": true,
}

// acts reports whether a GET of a path below an application's tracking URL makes it act.
func acts(below string) bool {
	plain, err := url.PathUnescape(below)
	if err != nil {
		plain = below
	}
	for element := range strings.SplitSeq(plain, "/") {
		name, _, _ := strings.Cut(element, ";")
		if actions[strings.ToLower(name)] {
			return true
		}
	}
	return false
}

// actPass is the parameter with which the shim marks links of an application's page that act: a browser doesn't say that they come from there, as
// the page has no origin. Its value is a pass for nothing else, as it is in the browser's history.
const actPass = "heddle-page"

// actsFor returns what such a pass is for, in place of the application's path.
func actsFor(own string) string { return own + " acts" }

// mayAct reports whether a request that makes an application act comes from its own page, or from no page at all. A page of another
// site can make its readers' browsers send such requests in their names: as a link, an image, a form.
func (p *Proxy) mayAct(r *http.Request, own string) bool {
	if _, ok := p.passOf(r, own); ok {
		return true
	}
	if _, ok := p.checkPass(r.URL.Query().Get(actPass), actsFor(own)); ok {
		return true
	}
	if rest.MayChange(r) {
		return true
	}
	// Browsers send Sec-Fetch-Site, which decides, to servers with TLS and on their own machine only.
	from, err := url.Parse(r.Referer())
	return err == nil && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" && rest.OfThisServer(from, r) &&
		(from.Path == own || strings.HasPrefix(from.Path, own+"/"))
}

// unasked answers a request that mayAct refuses.
func unasked(w http.ResponseWriter, r *http.Request, own string) {
	rest.ErrorPage(w, r, http.StatusForbidden, "This request makes the application act, and the browser does not say that it comes from the application's own page. "+
		"Use the page at "+own+"/, a program such as curl, or add the header X-Requested-By")
}
