package load

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"heddle/conf"
	"heddle/rm"
)

// Address sets the ResourceManagers' addresses from a configuration.
func (o *Options) Address(c *conf.Config) error {
	for _, p := range []struct {
		key string
		to  *[]string
	}{{rm.ClientAddress, &o.Client}, {rm.MasterAddress, &o.Master}, {rm.TrackerAddress, &o.Tracker}, {rm.AdminAddress, &o.Admin}} {
		addrs, err := c.RMAddresses(p.key)
		if err != nil {
			return err
		}
		for _, a := range addrs {
			*p.to = append(*p.to, c.Connectable(a).String())
		}
	}
	return nil
}

// Visit prepares a load on a user's cluster; busy allows one that has nodes or applications. keep are the arguments with which this program calls
// Keep. done takes back what the load has registered.
func Visit(ctx context.Context, o *Options, busy bool, keep ...string) (done func() error, err error) {
	if !busy {
		if err := Idle(ctx, *o); err != nil {
			return nil, fmt.Errorf("%w. Use an idle cluster, or none: without --conf and HADOOP_CONF_DIR a ResourceManager is started for the measurement. --busy loads this one nevertheless", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, keep...)
	cmd.Stderr = os.Stderr
	keeper, err := StartKeeper(cmd, *o)
	if err != nil {
		return nil, err
	}
	o.Submits = keeper.Submits
	return keeper.Close, nil
}
