package rest

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"heddle/rm/leader"
	"heddle/rm/leader/queueconf"
	"heddle/rm/queue"
	"heddle/rm/rest/queueedit"
	yarnrest "heddle/yarn/rest"
)

// confProperties is a configuration (Hadoop: ConfInfo).
type confProperties struct {
	Property []confProperty `yarn:"property"`
}

type confProperty struct {
	Name  string `yarn:"name"`
	Value string `yarn:"value"`
}

type confVersion struct {
	ID string `yarn:"versionID"`
}

func properties(settings map[string]string) yarnrest.Reply {
	var out confProperties
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		out.Property = append(out.Property, confProperty{key, settings[key]})
	}
	return yarnrest.OK("configuration", yarnrest.Mapped, out)
}

// routeSchedulerConf adds the paths that change queues at run time, unless these come from files alone.
func (s *server) routeSchedulerConf(api *yarnrest.API) {
	const only = "only supported by MutableConfScheduler"
	onFile := "Configuration change only supported by mutable configuration store."
	if !s.capacityScheduler() {
		onFile = "Configuration change " + only + "."
	}
	base := clusterBase + "/scheduler-conf"
	api.Handle(base, yarnrest.Methods{
		http.MethodGet: {Handle: s.admins("This API only supports to retrieve scheduler configuration from a mutable-conf scheduler, "+
			"underneath scheduler "+s.schedulerName()+"Scheduler is not an instance of MutableConfScheduler", s.schedulerConf)},
		http.MethodPut: {Handle: s.visits.Administered("updateSchedulerConfiguration", s.admins(onFile, s.changeSchedulerConf)), Takes: yarnrest.TakesDocument},
	})
	api.Handle(base+"/version", yarnrest.Methods{
		http.MethodGet: {Handle: s.admins("Configuration Version "+only+".", s.schedulerConfVersion)},
	})
	api.Handle(base+"/format", yarnrest.Methods{
		http.MethodGet: {Handle: s.admins("Scheduler Configuration format "+only, s.formatSchedulerConf), Changes: true},
	})
	api.Handle(base+"/validate", yarnrest.Methods{
		http.MethodPost: {
			Handle: s.admins("Configuration change validation "+only+".", s.validateSchedulerConf), Takes: yarnrest.TakesDocument,
		},
	})
}

// routeQueueTrial adds the path that tries a change of queues.
func (s *server) routeQueueTrial(api *yarnrest.API) {
	try := func(c *yarnrest.Call, l *leader.Leader) (yarnrest.Reply, error) {
		return queueedit.Try(c, l.QueueConf(), s.Types, whyNot, refusalReply)
	}
	api.Handle(heddleBase+"/queues/trial", yarnrest.Methods{
		http.MethodPost: {Handle: s.admins("Queues come from files: set yarn.scheduler.configuration.store.class to change them at run time.", try), Takes: yarnrest.TakesDocument},
	})
}

// admins lets a leader answer administrators; onFile is the answer if queues come from files.
func (s *server) admins(onFile string, answer func(*yarnrest.Call, *leader.Leader) (yarnrest.Reply, error)) yarnrest.Handler {
	return func(c *yarnrest.Call) (yarnrest.Reply, error) {
		if err := s.mustAdminister(c); err != nil {
			return yarnrest.Reply{}, err
		}
		if !s.MutableQueues {
			return yarnrest.Say(http.StatusBadRequest, "%s", onFile), nil
		}
		l, err := s.leader()
		if err != nil {
			return yarnrest.Reply{}, err
		}
		return answer(c, l)
	}
}

func (s *server) schedulerConf(_ *yarnrest.Call, l *leader.Leader) (yarnrest.Reply, error) {
	conf, err := l.QueueConf().Recorded()
	if err != nil {
		return yarnrest.Reply{}, refusalReply(err)
	}
	return properties(conf.Settings), nil
}

func (s *server) schedulerConfVersion(_ *yarnrest.Call, l *leader.Leader) (yarnrest.Reply, error) {
	conf, err := l.QueueConf().Recorded()
	if err != nil {
		return yarnrest.Reply{}, refusalReply(err)
	}
	return yarnrest.OK("configversion", yarnrest.Mapped, confVersion{strconv.FormatInt(conf.Version, 10)}), nil
}

func (s *server) changeSchedulerConf(c *yarnrest.Call, l *leader.Leader) (yarnrest.Reply, error) {
	change, err := queueedit.Read(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	version, err := queueedit.Version(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if err := l.QueueConf().ChangeAt(change, version); err != nil {
		var stale *queueconf.Stale
		if errors.As(err, &stale) {
			return yarnrest.Say(http.StatusConflict, "%s", stale), nil
		}
		if errors.Is(err, leader.ErrDeposed) {
			return yarnrest.Reply{}, refusalReply(err)
		}
		return yarnrest.Say(http.StatusBadRequest, "%s", whyNot(err)), nil
	}
	return yarnrest.Say(http.StatusOK, "Configuration change successfully applied."), nil
}

// whyNot words the refusal of a configuration as Hadoop does.
func whyNot(err error) string {
	var wrong *queueconf.Error
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	var invalid *queue.Invalid
	if errors.As(err, &invalid) {
		return "Failed to re-init queues : " + invalid.Brief()
	}
	return "Failed to re-init queues : " + wrong.Error()
}

func (s *server) validateSchedulerConf(c *yarnrest.Call, l *leader.Leader) (yarnrest.Reply, error) {
	change, err := queueedit.Read(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	settings, err := l.QueueConf().CheckChange(change)
	switch {
	case errors.Is(err, leader.ErrDeposed):
		return yarnrest.Reply{}, refusalReply(err)
	case err != nil:
		return yarnrest.Say(http.StatusBadRequest, "CapacityScheduler configuration validation failed:java.io.IOException: %s", whyNot(err)), nil
	}
	return properties(settings), nil
}

func (s *server) formatSchedulerConf(_ *yarnrest.Call, l *leader.Leader) (yarnrest.Reply, error) {
	switch err := l.QueueConf().Format(); {
	case errors.Is(err, leader.ErrDeposed):
		return yarnrest.Reply{}, refusalReply(err)
	case err != nil:
		return yarnrest.Say(http.StatusBadRequest, "%s", whyNot(err)), nil
	}
	return yarnrest.Say(http.StatusOK, "Configuration under store successfully formatted."), nil
}
