package rm

import (
	"fmt"

	"heddle/internal/secret"
	"heddle/rm/service"
	"heddle/yarn/ipc"
	"heddle/yarn/token"
)

// nodePort says who is let in at the port for nodes.
func (r *ResourceManager) nodePort() (cfg ipc.ServerConfig, err error) {
	const file, strangers = "heddle.cluster.secret-file", "heddle.cluster.stock-daemons"
	if r.conf.AdmitsStrangers() {
		r.log.Warnf("Whoever reaches %s may register as a node without proof, and gets the keys by which nodes check tokens: he can run commands as any user. "+
			"Keep that port among trusted machines, or set %s on all daemons (and %s = refuse, where it is set)", r.listeners[TrackerAddress].Addr(), file, strangers)
	}
	path := r.conf.Text(file)
	if path == "" {
		return cfg, nil
	}
	s, err := secret.Load(path)
	if err != nil {
		return cfg, fmt.Errorf("%s: %w", file, err)
	}
	cfg.Auth, cfg.Secrets = ipc.AuthToken, service.NodeSecrets{Key: s.Key(token.NodeKeyUse, token.NodeKeyLength)}
	cfg.Unproven = "a NodeManager doesn't prove that it belongs to the cluster: all daemons need the same " + file + ", which Hadoop's own can't have (" + strangers + " = admit takes them)"
	if r.conf.AdmitsStrangers() {
		cfg.Auth = ipc.AuthSimpleOrToken
	}
	return cfg, nil
}
