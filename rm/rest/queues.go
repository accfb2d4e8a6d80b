package rest

import (
	"net/http"

	"heddle/rm/queue"
	yarnrest "heddle/yarn/rest"
)

func (s *server) routeQueues(api *yarnrest.API) {
	api.Handle(clusterBase+"/queues/{queue}/access", yarnrest.Methods{http.MethodGet: {Handle: s.queueAccess}})
}

type queueAccess struct {
	Allowed     bool   `yarn:"allowed"`
	User        string `yarn:"user"`
	Diagnostics string `yarn:"diagnostics"`
}

// queueAccess tells who administers a queue whether somebody may submit to it, or administer it.
func (s *server) queueAccess(c *yarnrest.Call) (yarnrest.Reply, error) {
	q := c.Query()
	name, about := c.Var("queue"), q.Get("user")
	kind, right := "SUBMIT_APPLICATIONS", queue.Submit
	if given := q.Get("queue-acl-type"); given != "" {
		kind = given
	}
	switch kind {
	case "SUBMIT_APPLICATIONS":
	case "ADMINISTER_QUEUE":
		right = queue.Administer
	default:
		return yarnrest.Reply{}, yarnrest.BadRequest("Specified queueAclType=%s is not a valid type, valid queue acl types="+
			"{SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}", kind)
	}
	if about == "" {
		return yarnrest.Reply{}, yarnrest.Illegal("Null user")
	}
	if !s.Access.OnQueue(queue.Administer, caller(c), name) {
		return yarnrest.Reply{}, yarnrest.Forbidden("User=%s doesn't haven access to queue=%s so it cannot check ACLs for other users.",
			caller(c), name)
	}
	out := queueAccess{Allowed: s.Access.OnQueue(right, about, name), User: about}
	if !out.Allowed {
		out.Diagnostics = "User=" + about + " doesn't have access to queue=" + name + " with acl-type=" + kind
	}
	return yarnrest.OK("rmQueueAclInfo", yarnrest.Mapped, out), nil
}

// routeSchedulerConf adds the paths by which YARN's queues are changed at run time. Those here come from files, so that every
// answer is the one of a ResourceManager whose configuration store is a file.
func (s *server) routeSchedulerConf(api *yarnrest.API) {
	say := func(text string) yarnrest.Handler {
		return func(c *yarnrest.Call) (yarnrest.Reply, error) {
			if err := s.mustAdminister(c); err != nil {
				return yarnrest.Reply{}, err
			}
			return yarnrest.Say(http.StatusBadRequest, "%s", text), nil
		}
	}
	base := clusterBase + "/scheduler-conf"
	api.Handle(base, yarnrest.Methods{
		http.MethodGet: {Handle: say("This API only supports to retrieve scheduler configuration from a mutable-conf scheduler, " +
			"underneath scheduler " + s.schedulerName() + "Scheduler is not an instance of MutableConfScheduler")},
		http.MethodPut: {Handle: say("Configuration change only supported by MutableConfScheduler."), Takes: yarnrest.TakesDocument},
	})
	api.Handle(base+"/version", yarnrest.Methods{
		http.MethodGet: {Handle: say("Configuration Version only supported by MutableConfScheduler.")},
	})
	api.Handle(base+"/format", yarnrest.Methods{
		http.MethodGet: {Handle: say("Scheduler Configuration format only supported by MutableConfScheduler")},
	})
	api.Handle(base+"/validate", yarnrest.Methods{
		http.MethodPost: {Handle: say("Configuration change validation only supported by MutableConfScheduler."), Takes: yarnrest.TakesDocument},
	})
}
