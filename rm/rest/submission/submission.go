// Package submission reads the bodies of requests to run applications, and amounts of resources in bodies. Its errors have Hadoop's
// wording, and say that the client is at fault.
package submission

import (
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// Application is the body of a request to run an application (Hadoop: ApplicationSubmissionContextInfo).
type Application struct {
	ID             string          `yarn:"application-id"`
	Name           string          `yarn:"application-name"`
	Queue          *string         `yarn:"queue"`
	Priority       int32           `yarn:"priority"`
	AM             launchContext   `yarn:"am-container-spec"`
	Unmanaged      bool            `yarn:"unmanaged-AM"`
	CancelTokens   bool            `yarn:"cancel-tokens-when-complete"`
	MaxAttempts    int32           `yarn:"max-app-attempts"`
	Resource       Amount          `yarn:"resource"`
	Type           string          `yarn:"application-type"`
	KeepContainers bool            `yarn:"keep-containers-across-application-attempts"`
	Tags           givenTags       `yarn:"application-tags"`
	Label          string          `yarn:"app-node-label-expression"`
	AMLabel        string          `yarn:"am-container-node-label-expression"`
	Logs           *givenLogs      `yarn:"log-aggregation-context"`
	FailureWindow  int64           `yarn:"attempt-failures-validity-interval"` // ms
	Reservation    string          `yarn:"reservation-id"`
	BlackListing   *amBlackListing `yarn:"am-black-listing-requests"`
}

type givenLogs struct {
	Include       string `yarn:"log-include-pattern"`
	Exclude       string `yarn:"log-exclude-pattern"`
	RolledInclude string `yarn:"rolled-log-include-pattern"`
	RolledExclude string `yarn:"rolled-log-exclude-pattern"`
	Policy        string `yarn:"log-aggregation-policy-class-name"`
	Parameters    string `yarn:"log-aggregation-policy-parameters"`
}

// amBlackListing is accepted without effect: an ApplicationMaster is placed again wherever there is room.
type amBlackListing struct {
	Enabled bool `yarn:"am-black-listing-enabled"`
}

// New returns the defaults of members that a body leaves out.
func New() Application {
	return Application{Priority: -1, FailureWindow: -1, CancelTokens: true}
}

// Context converts a submission to the message that RPC clients send. types are the resource types of the cluster, and largest is its largest
// container. Errors are of type *yarnrest.Error.
func (g *Application) Context(types records.ResourceTypes, largest records.Resource) (*pb.ApplicationSubmissionContext, error) {
	id, err := records.ParseApplicationID(g.ID)
	if err != nil {
		return nil, yarnrest.BadRequest("Could not parse application id %s", g.ID)
	}
	size, err := g.Resource.Of(types)
	if err != nil {
		return nil, err
	}
	if err := check(size, types, largest); err != nil {
		return nil, err
	}
	ctx := &pb.ApplicationSubmissionContext{}
	ctx.SetApplicationId(id.PB())
	ctx.SetApplicationName(g.Name)
	if g.Queue != nil {
		ctx.SetQueue(*g.Queue)
	}
	priority := &pb.Priority{}
	priority.SetPriority(g.Priority)
	ctx.SetPriority(priority)
	ctx.SetUnmanagedAm(g.Unmanaged)
	ctx.SetCancelTokensWhenComplete(g.CancelTokens)
	ctx.SetMaxAppAttempts(g.MaxAttempts)
	ctx.SetResource(types.PB(size))
	if g.Type != "" {
		ctx.SetApplicationType(g.Type)
	}
	ctx.SetKeepContainersAcrossApplicationAttempts(g.KeepContainers)
	ctx.SetApplicationTags(g.Tags.Tag)
	ctx.SetAttemptFailuresValidityInterval(g.FailureWindow)
	// Hadoop always sets it, and shows it because of that
	ctx.SetNodeLabelExpression(g.Label)
	ctx.SetAmContainerResourceRequest([]*pb.ResourceRequest{amRequest(types.PB(size), g.AMLabel)})
	if g.Logs != nil {
		ctx.SetLogAggregationContext(logContext(g.Logs))
	}
	spec, err := containerSpec(&g.AM)
	if err != nil {
		return nil, err
	}
	ctx.SetAmContainerSpec(spec)
	return ctx, nil
}

// check has the wording of Hadoop's RMWebServices and of its scheduler.
func check(size records.Resource, types records.ResourceTypes, largest records.Resource) error {
	switch {
	case size.MemoryMB() > largest.MemoryMB():
		return yarnrest.BadRequest("Requested more memory than configured max")
	case size.VCores() > largest.VCores():
		return yarnrest.BadRequest("Requested more cores than configured max")
	}
	for i := range types.Len() {
		if size[i] < 0 {
			return yarnrest.BadRequest("Invalid resource request! Cannot allocate containers as requested resource is less than 0! "+
				"Requested resource type=[%s], Requested resource=%s", types.At(i).Name, types.Format(size))
		}
	}
	return nil
}

func amRequest(size *pb.Resource, label string) *pb.ResourceRequest {
	r := &pb.ResourceRequest{}
	zero := &pb.Priority{}
	zero.SetPriority(0)
	r.SetPriority(zero)
	r.SetResourceName("*")
	r.SetCapability(size)
	r.SetNumContainers(1)
	r.SetRelaxLocality(true)
	if label != "" {
		r.SetNodeLabelExpression(label)
	}
	return r
}

func logContext(g *givenLogs) *pb.LogAggregationContext {
	out := &pb.LogAggregationContext{}
	for _, f := range []struct {
		value string
		set   func(string)
	}{
		{g.Include, out.SetIncludePattern},
		{g.Exclude, out.SetExcludePattern},
		{g.RolledInclude, out.SetRolledLogsIncludePattern},
		{g.RolledExclude, out.SetRolledLogsExcludePattern},
		{g.Policy, out.SetLogAggregationPolicyClassName},
		{g.Parameters, out.SetLogAggregationPolicyParameters},
	} {
		if f.value != "" {
			f.set(f.value)
		}
	}
	return out
}
