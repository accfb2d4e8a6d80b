package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"heddle/integration/daemons"
	"heddle/integration/history"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// metrics are counts that must be 0 when nothing runs in the cluster.
type metrics struct {
	ActiveNodes int   `json:"activeNodes"`
	Allocated   int   `json:"containersAllocated"`
	Reserved    int   `json:"containersReserved"`
	AllocatedMB int64 `json:"allocatedMB"`
	AvailableMB int64 `json:"availableMB"`
}

// metricsOf returns the cluster's metrics from the ResourceManager that leads.
func metricsOf(ctx context.Context, addresses []string) (metrics, error) {
	var errs []error
	for _, a := range addresses {
		var body struct {
			Metrics metrics `json:"clusterMetrics"`
		}
		if err := getJSON(ctx, "http://"+a+"/ws/v1/cluster/metrics", &body); err != nil {
			errs = append(errs, err)
			continue
		}
		return body.Metrics, nil
	}
	return metrics{}, errors.Join(errs...)
}

func getJSON(ctx context.Context, url string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, hang)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// audit checks that everything promised is there, ends all applications, and checks that nothing is left of them.
func (s *theatre) audit(ctx context.Context) (history.Checked, error) {
	var errs []error
	for _, id := range s.ResourceManagers {
		s.Kill(id)
	}
	for _, id := range s.ResourceManagers {
		errs = append(errs, s.Start(id))
	}
	if _, err := s.Leader(ctx, ""); err != nil {
		return history.Checked{}, errors.Join(append(errs, err)...)
	}
	errs = append(errs, s.world.LookForAll(ctx))
	checked, err := s.world.Check()
	errs = append(errs, err, killAll(ctx, s.client, s.Addresses), s.nothingLeft(ctx))
	for _, name := range s.NodeManagers {
		errs = append(errs, s.Stop(name))
	}
	if left, err := s.Mounts(); len(left) > 0 || err != nil {
		errs = append(errs, fmt.Errorf("mounts are left: %v, %w", left, err))
	}
	for _, name := range s.ResourceManagers {
		errs = append(errs, s.Stop(name))
	}
	if p := s.Panics(); len(p) > 0 {
		errs = append(errs, fmt.Errorf("daemons panicked:\n%s", strings.Join(p, "\n")))
	}
	return checked, errors.Join(errs...)
}

// nothingLeft waits until no container is left: the ResourceManager counts none, and there is no process and no cgroup.
func (s *theatre) nothingLeft(ctx context.Context) error {
	var m metrics
	var err error
	books := until(ctx, "the ResourceManager counts no container", func() bool {
		m, err = metricsOf(ctx, s.Addresses(rm.WebAddress))
		return err == nil && m.Allocated == 0 && m.AllocatedMB == 0 && m.Reserved == 0
	})
	if books != nil {
		books = fmt.Errorf("%w: %+v, %w", books, m, err)
	}
	processes := until(ctx, "no process is left", func() bool { return len(s.Strays()) == 0 })
	if processes != nil {
		processes = fmt.Errorf("%w: %v", processes, s.Strays())
	}
	groups := until(ctx, "no cgroup is left", func() bool { return len(daemons.Groups(s.group)) == 0 })
	if groups != nil {
		groups = fmt.Errorf("%w: %v", groups, daemons.Groups(s.group))
	}
	return errors.Join(books, processes, groups)
}

// killAll kills the running applications.
func killAll(ctx context.Context, client *ipc.Client, addresses func(string) []string) error {
	to := client.Failover(addresses(rm.ClientAddress), protocol.ApplicationClient, ipc.Identity{User: "root"}, ipc.RetryPolicy{MaxElapsed: patience})
	req := &pb.GetApplicationsRequest{}
	req.SetApplicationStates([]pb.YarnApplicationState{
		pb.YarnApplicationState_NEW, pb.YarnApplicationState_NEW_SAVING, pb.YarnApplicationState_SUBMITTED, pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING,
	})
	resp, err := protocol.GetApplications.Call(ctx, to, req)
	if err != nil {
		return err
	}
	for _, a := range resp.GetApplications() {
		kill := &pb.KillApplicationRequest{}
		kill.SetApplicationId(a.GetApplicationId())
		if err := until(ctx, fmt.Sprintf("%v is killed", a.GetApplicationId()), func() bool {
			var done *pb.KillApplicationResponse
			done, err = protocol.ForceKillApplication.Call(ctx, to, kill)
			return err != nil || done.GetIsKillCompleted()
		}); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("kill %v: %w", a.GetApplicationId(), err)
		}
	}
	return nil
}
