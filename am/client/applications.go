package client

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/conf/secure"
	"heddle/internal/pause"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Applications has the calls of a user about applications. It is safe for concurrent use.
type Applications struct {
	rm    ipc.Invoker
	at    string
	types records.ResourceTypes
	poll  time.Duration
	// renewer is the renewer of the delegation tokens that applications get; "": they need none.
	renewer string
}

// clientPatience is how long people wait for a ResourceManager, unless yarn.resourcemanager.connect.max-wait.ms is set.
// It is longer than a change of leaders takes; that key's default of 15 minutes is too long for a person.
const clientPatience = 30 * time.Second

// Applications returns the calls in the name of a user. An empty name stands for the result of User.
func (c *Cluster) Applications(user string) (*Applications, error) {
	if user == "" && !secure.On(c.conf) {
		var err error
		if user, err = User(c.conf); err != nil {
			return nil, err
		}
	}
	who, err := c.identify(user)
	if err != nil {
		return nil, err
	}
	patience := clientPatience
	if key := "yarn.resourcemanager.connect.max-wait.ms"; c.conf.IsSet(key) {
		patience = c.conf.Limit(key)
	}
	rm, at, err := c.resourceManager(clientAddress, protocol.ApplicationClient, who, patience)
	if err != nil {
		return nil, err
	}
	a := &Applications{rm: rm, at: at, types: c.types, poll: c.conf.Duration("yarn.client.application-client-protocol.poll-interval-ms")}
	if who.Kerberos != nil {
		a.renewer = secure.Renewer(c.conf)
	}
	return a, nil
}

// failed wraps an error with what failed, and with the address if there was no answer.
func (a *Applications) failed(what string, err error) error {
	if ipc.Class(err) != "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: no answer from the ResourceManager at %s: %w", what, a.at, err)
}

// New gets an application id, and the largest resource that a container can have.
func (a *Applications) New(ctx context.Context) (records.ApplicationID, records.Resource, error) {
	resp, err := protocol.GetNewApplication.Call(ctx, a.rm, &pb.GetNewApplicationRequest{})
	if err != nil {
		return records.ApplicationID{}, records.Resource{}, a.failed("a new application", err)
	}
	// Ignore resource types that the configuration lacks: they can't be asked for.
	maximum, _ := a.types.From(resp.GetMaximumCapability())
	return records.ApplicationIDFrom(resp.GetApplicationId()), maximum, nil
}

// Submission describes an application to submit.
type Submission struct {
	ID       records.ApplicationID // from New
	Name     string
	Type     string // shown in lists; YARN if empty
	Queue    string // the default queue if empty
	Label    string // of the nodes for its containers, where requests name none; empty: the queue's default
	Priority int32
	Tags     []string
	AM       Launch
	Resource records.Resource // of the ApplicationMaster's container
	// MaxAttempts is how often the ApplicationMaster is started at most. 0 means as often as the cluster allows.
	MaxAttempts int
	// KeepContainers lets containers run on when their ApplicationMaster has ended and another one is started.
	KeepContainers bool
	// Unmanaged applications have an ApplicationMaster that the cluster doesn't start.
	Unmanaged bool
	// TaskTime is how long its tasks take in the mean; 0: it says nothing of that. It tells long applications from short ones
	// (heddle.scheduler.partition.cutoff-ms).
	TaskTime time.Duration
	// Lifetime is how long the application may run before it is killed; 0 means without limit.
	Lifetime time.Duration
}

// taskTime is the scheduling property that says TaskTime.
const taskTime = "heddle-task-time"

// PB returns the wire form.
func (s Submission) PB(types records.ResourceTypes) (*pb.ApplicationSubmissionContext, error) {
	launch, err := s.AM.PB()
	if err != nil {
		return nil, err
	}
	m := &pb.ApplicationSubmissionContext{}
	m.SetApplicationId(s.ID.PB())
	m.SetApplicationName(s.Name)
	if s.Type != "" {
		m.SetApplicationType(s.Type)
	}
	if s.Queue != "" {
		m.SetQueue(s.Queue)
	}
	if s.Label != "" {
		m.SetNodeLabelExpression(s.Label)
	}
	p := &pb.Priority{}
	p.SetPriority(s.Priority)
	m.SetPriority(p)
	m.SetApplicationTags(s.Tags)
	m.SetAmContainerSpec(launch)
	m.SetResource(types.PB(s.Resource))
	m.SetMaxAppAttempts(int32(s.MaxAttempts))
	m.SetKeepContainersAcrossApplicationAttempts(s.KeepContainers)
	m.SetUnmanagedAm(s.Unmanaged)
	if s.TaskTime > 0 {
		p := &pb.StringStringMap{}
		p.SetKey(taskTime)
		p.SetValue(s.TaskTime.String())
		m.SetApplicationSchedulingProperties([]*pb.StringStringMap{p})
	}
	if s.Lifetime > 0 {
		t := &pb.ApplicationTimeoutMap{}
		t.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
		t.SetTimeout(int64((s.Lifetime + time.Second - 1) / time.Second))
		m.SetApplicationTimeouts([]*pb.ApplicationTimeoutMap{t})
	}
	return m, nil
}

// Submit submits an application, and returns when the ResourceManager has accepted it. If the ResourceManager refuses
// it, the error has the reason.
func (a *Applications) Submit(ctx context.Context, s Submission) error {
	if err := a.entitle(ctx, &s.AM); err != nil {
		return fmt.Errorf("%v: %w", s.ID, err)
	}
	m, err := s.PB(a.types)
	if err != nil {
		return fmt.Errorf("%v: %w", s.ID, err)
	}
	return a.SubmitContext(ctx, m)
}

// entitle gives an ApplicationMaster a token by which it can ask the ResourceManager what clients can. It has no Kerberos ticket.
func (a *Applications) entitle(ctx context.Context, l *Launch) error {
	if a.renewer == "" {
		return nil
	}
	req := &pb.GetDelegationTokenRequest{}
	req.SetRenewer(a.renewer)
	resp, err := protocol.GetDelegationToken.Call(ctx, a.rm, req)
	if err != nil {
		return a.failed("a delegation token", err)
	}
	with := &token.Credentials{}
	if l.Credentials != nil {
		*with = *l.Credentials
	}
	named := token.NamedToken{Alias: token.KindDelegation, Token: token.FromPB(resp.GetToken())}
	with.Tokens = append(slices.Clone(with.Tokens), named)
	l.Credentials = with
	return nil
}

// SubmitContext does the same for an application in its wire form.
func (a *Applications) SubmitContext(ctx context.Context, m *pb.ApplicationSubmissionContext) error {
	id := records.ApplicationIDFrom(m.GetApplicationId())
	req := &pb.SubmitApplicationRequest{}
	req.SetApplicationSubmissionContext(m)
	what := fmt.Sprintf("submitting %v", id)
	if _, err := protocol.SubmitApplication.Call(ctx, a.rm, req); err != nil {
		return a.failed(what, err)
	}
	for {
		r, err := a.Report(ctx, id)
		switch {
		case ipc.IsClass(err, ipc.ApplicationNotFound):
			// Another ResourceManager has taken over, and doesn't know the application.
			if _, err := protocol.SubmitApplication.Call(ctx, a.rm, req); err != nil {
				return a.failed(what, err)
			}
		case err != nil:
			return err
		case r.State == pb.YarnApplicationState_FAILED || r.State == pb.YarnApplicationState_KILLED:
			return fmt.Errorf("%s: %s", what, r.Diagnostics)
		case r.State > pb.YarnApplicationState_SUBMITTED:
			return nil
		}
		if err := pause.For(ctx, a.poll); err != nil {
			return fmt.Errorf("%s: waiting for it to be accepted: %w", what, err)
		}
	}
}

// Report has what the ResourceManager knows of an application.
type Report struct {
	ID      records.ApplicationID
	Attempt records.AttemptID // the current one
	User    string
	Queue   string
	Name    string
	State   pb.YarnApplicationState
	Final   pb.FinalApplicationStatus
	// Host and Port are where the ApplicationMaster listens. Host is empty and Port is -1 if it doesn't listen.
	Host string
	Port int32
	// TrackingURL leads to the application's pages through the ResourceManager's proxy; OriginalTrackingURL is their
	// own address.
	TrackingURL, OriginalTrackingURL string
	Diagnostics                      string
	Progress                         float32
	Started, Finished                time.Time             // Finished is zero while it runs
	PB                               *pb.ApplicationReport // the whole report
}

// Ended reports whether the application has finished, failed or been killed.
func (r *Report) Ended() bool { return r.State >= pb.YarnApplicationState_FINISHED }

// Succeeded reports whether the application has finished and declared itself successful.
func (r *Report) Succeeded() bool {
	return r.State == pb.YarnApplicationState_FINISHED && r.Final == pb.FinalApplicationStatus_APP_SUCCEEDED
}

func report(m *pb.ApplicationReport) Report {
	r := Report{
		ID: records.ApplicationIDFrom(m.GetApplicationId()), Attempt: records.AttemptIDFrom(m.GetCurrentApplicationAttemptId()),
		User: m.GetUser(), Queue: m.GetQueue(), Name: m.GetName(), State: m.GetYarnApplicationState(),
		Final: m.GetFinalApplicationStatus(), Host: m.GetHost(), Port: m.GetRpcPort(),
		TrackingURL: absent(m.GetTrackingUrl()), OriginalTrackingURL: absent(m.GetOriginalTrackingUrl()),
		Diagnostics: m.GetDiagnostics(), Progress: m.GetProgress(), Started: time.UnixMilli(m.GetStartTime()), PB: m,
	}
	if t := m.GetFinishTime(); t > 0 {
		r.Finished = time.UnixMilli(t)
	}
	if r.Host = absent(r.Host); r.Host == "" || r.Port <= 0 {
		r.Host, r.Port = "", -1
	}
	return r
}

// absent turns the strings that Hadoop uses for "no value" into an empty string.
func absent(s string) string {
	if s == "N/A" {
		return ""
	}
	return s
}

// Report asks about one application. IsNotFound recognizes the error for an unknown one.
func (a *Applications) Report(ctx context.Context, id records.ApplicationID) (Report, error) {
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(id.PB())
	resp, err := protocol.GetApplicationReport.Call(ctx, a.rm, req)
	if err != nil {
		return Report{}, a.failed(fmt.Sprintf("report of %v", id), err)
	}
	return report(resp.GetApplicationReport()), nil
}

// Wait polls an application until it has ended, or until enough returns true. enough may be nil.
func (a *Applications) Wait(ctx context.Context, id records.ApplicationID, enough func(Report) bool) (Report, error) {
	for {
		r, err := a.Report(ctx, id)
		if err != nil {
			return Report{}, err
		}
		if enough != nil && enough(r) || r.Ended() {
			return r, nil
		}
		if err := pause.For(ctx, a.poll); err != nil {
			return r, fmt.Errorf("waiting for %v: %w", id, err)
		}
	}
}

// MasterToken waits until the ResourceManager expects the ApplicationMaster of an unmanaged application, and returns
// its token.
func (a *Applications) MasterToken(ctx context.Context, id records.ApplicationID) (records.AttemptID, token.Token, error) {
	r, err := a.Wait(ctx, id, func(r Report) bool { return r.PB.HasAmRmToken() })
	if err == nil && !r.PB.HasAmRmToken() {
		err = fmt.Errorf("%v is %v: %s", id, r.State, r.Diagnostics)
	}
	if err != nil {
		return records.AttemptID{}, token.Token{}, err
	}
	return r.Attempt, token.FromPB(r.PB.GetAmRmToken()), nil
}

// Kill kills an application, and returns when the ResourceManager has recorded that. It returns nil if the application
// has ended already.
func (a *Applications) Kill(ctx context.Context, id records.ApplicationID, diagnostics string) error {
	req := &pb.KillApplicationRequest{}
	req.SetApplicationId(id.PB())
	if diagnostics != "" {
		req.SetDiagnostics(diagnostics)
	}
	for {
		resp, err := protocol.ForceKillApplication.Call(ctx, a.rm, req)
		if err != nil {
			return a.failed(fmt.Sprintf("killing %v", id), err)
		}
		if resp.GetIsKillCompleted() {
			return nil
		}
		if err := pause.For(ctx, a.poll); err != nil {
			return fmt.Errorf("killing %v: %w", id, err)
		}
	}
}

// List returns the applications that a request selects; nil selects all.
func (a *Applications) List(ctx context.Context, req *pb.GetApplicationsRequest) ([]Report, error) {
	if req == nil {
		req = &pb.GetApplicationsRequest{}
	}
	resp, err := protocol.GetApplications.Call(ctx, a.rm, req)
	if err != nil {
		return nil, a.failed("listing applications", err)
	}
	var out []Report
	for _, m := range resp.GetApplications() {
		out = append(out, report(m))
	}
	return out, nil
}

// IsNotFound reports whether err says that the ResourceManager doesn't know the application.
func IsNotFound(err error) bool { return ipc.IsClass(err, ipc.ApplicationNotFound) }
