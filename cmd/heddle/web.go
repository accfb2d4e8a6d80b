package main

import (
	"errors"
	"net/http"

	"heddle/conf/ssl"
	"heddle/hdfsadapter"
	"heddle/nm/logs/past"
	"heddle/rm"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/rest"
	"heddle/rm/service/certificates"
	"heddle/webui"
	"heddle/webui/proxy"
	"heddle/yarn/proxyca"
	"heddle/yarn/records"
	"heddle/yarn/rest/auth"
)

// webPort returns the handler of a ResourceManager's web port: the APIs, the pages, and the proxy to applications' own pages.
func webPort(r *rm.ResourceManager) (http.Handler, error) {
	view := r.View()
	hosts := r.Conf().Strings("heddle.web-proxy.hosts")
	logs := past.New(r.Conf(), r.Log(), func() (hdfsadapter.Login, error) { return rm.HDFSLogin(r) })
	return rest.Of(r, rest.Mounts{Logs: logs, Pages: webui.Handler(ssl.Scheme(r.Conf())), Proxy: proxy.New(proxy.Config{
		Lookup: func(id records.ApplicationID) (proxy.App, bool) {
			a, ok := view.App(id)
			return proxy.App{User: a.User, Tracking: a.OriginalTrackingURL, Ended: a.State >= ledger.AppFinishing, Hosts: append(r.Door().MachinesOf(id), hosts...)}, ok
		},
		User: func(req *http.Request) string { return auth.From(req.Context()).User },
		MayView: func(user string, id records.ApplicationID) bool {
			a, ok := view.App(id)
			return ok && r.Access().MayView(user, a.Rights())
		},
		Pages: view.URL(view.Web) + "/cluster",
		Warn:  r.Conf().Text("hadoop.security.authentication") == "kerberos",
		Log:   r.Log(),

		OwnOrigin: r.ProxyApart(), Authority: authority(r), Strict: r.Conf().Text(proxyca.Key) == proxyca.Strict,
	})})
}

// authority returns who signs certificates of ApplicationMasters; nil if the policy gives them none.
func authority(r *rm.ResourceManager) func() (*proxyca.Authority, error) {
	if !certificates.On(r.Conf().Text(proxyca.Key)) {
		return nil
	}
	var opened proxyca.Opened
	return func() (a *proxyca.Authority, err error) {
		err = errors.New("there is no authority for certificates of ApplicationMasters yet")
		r.Read(func(st *ledger.State) {
			if secret := st.Keys[ledgerpb.KeyKind_PROXY_CA].Current.Secret; secret != nil {
				a, err = opened.Open(secret)
			}
		})
		return a, err
	}
}
