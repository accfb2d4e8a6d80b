package attacks

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"heddle/rm"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// fetch makes a request of a web page that doesn't follow redirects.
func (x *target) fetch(method, url, body string, change func(*http.Request)) (status int, header http.Header, text string) {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	if err != nil {
		x.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		x.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

// foreignPages are a browser's requests that a page of somebody else has it make.
func (x *target) foreignPages() {
	m := x.unmanaged(honest)
	web := "http://" + x.Address(x.leader(), rm.WebAddress)
	cross := func(r *http.Request) {
		r.Header.Set("Origin", "http://evil.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "no-cors")
		r.Header.Set("Content-Type", "text/plain")
	}
	state := web + "/ws/v1/cluster/apps/" + m.id.String() + "/state?user.name=root"
	try := func(what, method, url, body string, change func(*http.Request)) {
		if status, _, text := x.fetch(method, url, body, change); status < 400 {
			x.t.Errorf("%s got in: %d %.200s", what, status, text)
		}
	}
	try("a page that kills", http.MethodPut, state, `{"state":"KILLED"}`, cross)
	try("a page that kills by POST", http.MethodPost, state, `{"state":"KILLED"}`, cross)
	try("a page that submits", http.MethodPost, web+"/ws/v1/cluster/apps?user.name=root", `{"application-id":"`+m.id.String()+`"}`, cross)
	try("a page that gets an id", http.MethodPost, web+"/ws/v1/cluster/apps/new-application?user.name=root", "", cross)
	try("a page that changes queues", http.MethodPut, web+"/ws/v1/cluster/scheduler-conf?version=1&user.name=root", `{"global-updates":[]}`, cross)
	try("a page that tries queues", http.MethodPost, web+"/ws/v1/heddle/queues/trial?user.name=root", `{"global-updates":[]}`, cross)
	box := m.container()
	must(x, protocol.StartContainers, m.Node(box), launch(box, nil, "sleep 1000"))
	id := strings.TrimSpace(containerName(box))
	node := "http://" + x.Address("nm1", "yarn.nodemanager.webapp.address")
	try("a page that suspends a container", http.MethodPost, web+"/ws/v1/heddle/containers/"+id+"/suspend?user.name=root", "", cross)
	try("a page that suspends a container at its node", http.MethodPost, node+"/ws/v1/heddle/containers/"+id+"/suspend?user.name=root", "", cross)
	rebound := func(r *http.Request) { r.Host = "evil.example" }
	try("a name that somebody else has for this host", http.MethodPut, state, `{"state":"KILLED"}`, func(r *http.Request) {
		rebound(r)
		r.Header.Set("Content-Type", "application/json")
	})
	try("the same when it reads", http.MethodGet, web+"/ws/v1/cluster/apps?user.name=root", "", rebound)
	try("the same for a log", http.MethodGet, web+"/ws/v1/heddle/containers/"+id+"/logs?user.name=root", "", rebound)
	try("the same at a node", http.MethodGet, node+"/ws/v1/node/containers?user.name=root", "", rebound)
	if _, err := m.Allocate(&pb.AllocateRequest{}); err != nil {
		x.t.Errorf("the application that was to be killed: %v", err)
	}
}

// trackingURLs have the ResourceManager fetch from where users don't get.
func (x *target) trackingURLs() {
	reached := make(chan string, 100)
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached <- r.URL.Path
		w.Header().Set("Set-Cookie", "hadoop.auth =from.inner; path=/")
		w.Header().Set("Service-Worker-Allowed", "/")
		w.Header().Set("Clear-Site-Data", `"*"`)
		_, _ = io.WriteString(w, "inner page")
	}))
	defer inner.Close()
	metadata := "http://169.254.169.254/latest"
	for _, url := range []string{inner.URL + "/private", metadata, "http://[::1]:1/", "file:///etc/passwd", "gopher://127.0.0.1:1/x", "javascript:alert(1)"} {
		m := x.unmanaged(hostile)
		finish := &pb.FinishApplicationMasterRequest{}
		finish.SetTrackingUrl(url)
		finish.SetFinalApplicationStatus(pb.FinalApplicationStatus_APP_SUCCEEDED)
		must(x, protocol.FinishApplicationMaster, m.RM, finish)
		status, header, text := x.fetch(http.MethodGet, "http://"+x.Address(x.leader(), rm.WebAddress)+"/proxy/"+m.id.String()+"/?user.name="+hostile, "", nil)
		if strings.Contains(text, "root:") {
			x.t.Errorf("%s shows a file: %d %.200s", url, status, text)
		}
		for _, h := range []string{"Service-Worker-Allowed", "Clear-Site-Data"} {
			if header.Get(h) != "" {
				x.t.Errorf("%s passes the header %s on", url, h)
			}
		}
		for _, c := range header.Values("Set-Cookie") {
			if strings.HasPrefix(c, "hadoop.auth") && strings.Contains(c, "from.inner") {
				x.t.Errorf("%s sets our cookie: %s", url, c)
			}
		}
		if strings.HasPrefix(header.Get("Location"), "javascript:") {
			x.t.Errorf("%s is redirected to", url)
		}
	}
	select {
	case path := <-reached:
		x.t.Errorf("the proxy has fetched %s from a port of loopback that is no container's", path)
	default:
	}
}

// logLinks ask for files that are no logs.
func (x *target) logLinks() {
	for _, daemon := range []string{x.Address(x.leader(), rm.WebAddress), x.Address("nm1", "yarn.nodemanager.webapp.address")} {
		for _, path := range []string{
			"/logs/../../../../etc/passwd", "/logs/..%2f..%2f..%2f..%2fetc%2fpasswd", "/logs/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/static/../../../etc/passwd",
			"/node/containerlogs/../../../../etc/passwd", "/ws/v1/node/containerlogs/container_1_1_01_000001/..%2f..%2f..%2fetc%2fpasswd", "/logs/link",
		} {
			if _, _, text := x.fetch(http.MethodGet, "http://"+daemon+path, "", nil); strings.Contains(text, "root:") || strings.Contains(text, secretText) {
				x.t.Errorf("%s%s shows a file: %.100s", daemon, path, text)
			}
		}
	}
	// a container's log that is a link
	m := x.unmanaged(hostile)
	box := m.container()
	must(x, protocol.StartContainers, m.Node(box), launch(box, nil, "ln -s "+x.secret+" $(echo $LOG_DIRS | cut -d, -f1)/stolen; ln -s "+filepath.Dir(x.secret)+" $(echo $LOG_DIRS | cut -d, -f1)/folder; exec sleep 1000"))
	for _, name := range x.NodeManagers {
		at := "http://" + x.Address(name, "yarn.nodemanager.webapp.address")
		for _, path := range []string{"/ws/v1/node/containerlogs/" + containerName(box) + "/stolen", "/ws/v1/node/containers/" + containerName(box) + "/logs/folder%2fsecret", "/node/containerlogs/" + containerName(box) + "/" + hostile + "/stolen?start=0"} {
			if _, _, text := x.fetch(http.MethodGet, at+path+"?user.name="+hostile, "", nil); strings.Contains(text, secretText) {
				x.t.Errorf("%s shows root's file", path)
			}
		}
	}
	at := "http://" + x.Address(x.leader(), rm.WebAddress) + "/ws/v1/heddle/containers/" + containerName(box) + "/logs"
	for _, path := range []string{
		"/stolen?start=0", "/stolen?size=100", "/stolen?download=true", "/stolen?find=a", "/folder%2fsecret?start=0", "/..%2f..%2f..%2fetc%2fpasswd?start=0",
		"/stolen?start=0&node=..%2f..%2fetc", "/stolen?start=0&owner=..%2f..%2froot",
	} {
		if _, _, text := x.fetch(http.MethodGet, at+path+"&user.name="+hostile, "", nil); strings.Contains(text, secretText) || strings.Contains(text, "root:") {
			x.t.Errorf("the ResourceManager's %s shows root's file", path)
		}
	}
	if _, err := os.Stat(x.secret); err != nil {
		x.t.Error(err)
	}
}
