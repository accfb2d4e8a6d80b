package rm

import (
	"heddle/rm/service"
	"heddle/yarn/token"
)

// nodePort returns the port for nodes, which admits the callers that the configuration names.
func (r *ResourceManager) nodePort(svc *service.Service, p *prepared) service.Port {
	const file, strangers = "heddle.cluster.secret-file", "heddle.cluster.stock-daemons"
	if r.own.account == nil && r.conf.AdmitsStrangers() {
		r.log.Warnf("any host that reaches %s can register as a node without proof, receives the token keys, and can then run commands as any user. "+
			"Keep that port among trusted machines, or set %s on all daemons (and %s = refuse, where it is set)", r.listeners[TrackerAddress].Addr(), file, strangers)
	}
	if p.secret == nil || r.own.account != nil {
		port := svc.Nodes(nil, true)
		if r.own.account != nil {
			port.Config.Unproven = "a NodeManager must have a Kerberos ticket of its account (yarn.nodemanager.principal)"
		}
		return port
	}
	port := svc.Nodes(p.secret.Key(token.NodeKeyUse, token.NodeKeyLength), r.conf.AdmitsStrangers())
	port.Config.Unproven = "a NodeManager doesn't prove that it belongs to the cluster: all daemons need the same " + file +
		", which Hadoop's own can't have (" + strangers + " = admit takes them)"
	return port
}
