package rm

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/listen"
	"heddle/rm/raft"
)

// CheckWitness returns all that keeps a witness from starting with a configuration.
func CheckWitness(c *conf.Config) (found []conf.Problem) {
	cfg, a, err := witnessConfig(c)
	if err == nil {
		err = openTo(c, a, cfg)
	}
	for _, p := range conf.Problems(err) {
		p.Roles = conf.Witness
		found = append(found, p)
	}
	return found
}

func witnessConfig(c *conf.Config) (cfg raft.Config, a conf.Address, err error) {
	a, there, err := c.WitnessAddress()
	if err != nil || !there {
		return cfg, a, errors.Join(err, errors.New("this configuration has no witness: set heddle.raft.witness.address to HOST:8034 of this machine, on the ResourceManagers, too"))
	}
	cfg, err = raftConfig(c, conf.WitnessID)
	return cfg, a, err
}

// Witness runs the witness of two ResourceManagers until ctx ends, or it can't continue. It opens one port, for the ResourceManagers.
func Witness(ctx context.Context, c *conf.Config, log *logrus.Entry) error {
	cfg, a, err := witnessConfig(c)
	if err != nil {
		return err
	}
	cfg.Log = log.WithField("role", conf.WitnessID)
	if host := c.Text("yarn.resourcemanager.bind-host"); host != "" {
		a.Host = host
	}
	if cfg.Listener, err = listen.TCP(a.String(), "heddle.raft.witness.address"); err != nil {
		return err
	}
	if err := raft.CheckListener(cfg.Listener, cfg.TLS); err != nil {
		return errors.Join(fmt.Errorf("heddle.raft.witness.address: %w", err), cfg.Listener.Close())
	}
	w, err := raft.OpenWitness(cfg)
	if err != nil {
		return errors.Join(err, cfg.Listener.Close())
	}
	cfg.Log.WithField("address", a.String()).WithField("folder", cfg.Dir).Info("witness started")
	return w.Run(ctx)
}
