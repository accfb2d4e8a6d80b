package command

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/javafmt"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

var application = verb{
	name: "app", alias: "application", title: "application",
	short:   "List, show, submit, change and kill applications",
	options: applicationOptions,
	run:     (*session).application,
}

func applicationOptions() []option.Option {
	return append([]option.Option{
		{Name: "list", Help: "Lists applications that have not ended; -appStates, -appTypes and -appTags select others."},
		{Name: "appStates", Arg: "States", Values: option.Unlimited, Separator: ',', Help: "With -list: only applications in these states. " + validAppStates()},
		{Name: "appTypes", Arg: "Types", Values: option.Unlimited, Separator: ',', Help: "With -list: only applications of these types, such as MAPREDUCE,SPARK."},
		{Name: "appTags", Arg: "Tags", Values: option.Unlimited, Separator: ',', Help: "With -list: only applications with one of these tags."},
		{Name: "status", Arg: "Application ID", Help: "Shows an application."},
		{Name: "submit", Arg: "File", Help: "Submits the application that a file describes (-: standard input), in the JSON of POST /ws/v1/cluster/apps. If the file has no application-id, the command gets a new one."},
		{Name: "why", Arg: "Application ID", Help: "Shows why an application's requests are pending."},
		{Name: "timeline", Arg: "Application ID", Help: "Shows when an application and its containers reached each step."},
		{Name: "receipt", Arg: "Application ID", Help: "Shows where an application's time went."},
		{Name: "kill", Arg: "Application IDs", Values: option.Unlimited, Help: "Kills applications."},
		{Name: "movetoqueue", Arg: "Application ID", Help: "Moves an application to the queue of -queue."},
		{Name: "queue", Arg: "Queue Name", Help: "With -movetoqueue: the target queue."},
		{Name: "appId", Arg: "Application ID", Help: "The application that -changeQueue, -updatePriority or -updateLifetime changes."},
		{Name: "changeQueue", Arg: "Queue Name", Help: "Moves the application of -appId to a queue."},
		{Name: "updatePriority", Arg: "Priority", Help: "Gives the application of -appId another priority; higher ones come first."},
		{Name: "updateLifetime", Arg: "Timeout", Help: "Kills the application of -appId in that many seconds, unless it has ended by then."},
	}, option.Elsewhere("app", "launch", "save", "start", "stop", "flex", "destroy", "enableFastLaunch", "upgrade", "decommission", "component", "instances")...)
}

func (s *session) application(l *option.Line) error {
	switch {
	case len(l.Args) > 0:
		fmt.Fprintf(s.err, "%s belongs to no option\n", strings.Join(l.Args, " "))
		return s.usage()
	case l.Has("status"):
		return s.appStatus(l.Value("status"))
	case l.Has("list"):
		return s.appList(l)
	case l.Has("kill"):
		return s.appKill(l.Values("kill"))
	case l.Has("submit"):
		return s.appSubmit(l.Value("submit"))
	case l.Has("why"):
		return s.appWhy(l.Value("why"))
	case l.Has("timeline"):
		return s.appTimeline(l.Value("timeline"))
	case l.Has("receipt"):
		return s.appReceipt(l.Value("receipt"))
	case l.Has("movetoqueue"):
		if !l.Has("queue") {
			return s.usage()
		}
		return s.appMove(l.Value("movetoqueue"), l.Value("queue"))
	case l.Has("appId") && l.Has("changeQueue"):
		return s.appMove(l.Value("appId"), l.Value("changeQueue"))
	case l.Has("appId") && l.Has("updatePriority"):
		return s.appPriority(l.Value("appId"), l.Value("updatePriority"))
	case l.Has("appId") && l.Has("updateLifetime"):
		return s.appLifetime(l.Value("appId"), l.Value("updateLifetime"))
	case l.Has("changeQueue"), l.Has("updatePriority"), l.Has("updateLifetime"):
		fmt.Fprintln(s.err, "name the application to change: -appId")
		return s.usage()
	}
	return s.invalid()
}

// allAppStates are the states of applications, in their order.
var allAppStates = []pb.YarnApplicationState{
	pb.YarnApplicationState_NEW, pb.YarnApplicationState_NEW_SAVING, pb.YarnApplicationState_SUBMITTED,
	pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING, pb.YarnApplicationState_FINISHED,
	pb.YarnApplicationState_FAILED, pb.YarnApplicationState_KILLED,
}

func validAppStates() string {
	names := []string{"ALL"}
	for _, st := range allAppStates {
		names = append(names, st.String())
	}
	return "The valid application state can be one of the following: " + strings.Join(names, ",")
}

// appStates reads the states to list. By default they are those of applications that haven't ended.
func (s *session) appStates(values []string) ([]pb.YarnApplicationState, error) {
	var wanted []pb.YarnApplicationState
	for _, name := range option.Words(values) {
		if strings.EqualFold(name, "ALL") {
			return allAppStates, nil
		}
		i := slices.IndexFunc(allAppStates, func(st pb.YarnApplicationState) bool {
			return strings.EqualFold(st.String(), name)
		})
		if i < 0 {
			s.print("The application state %s is invalid.\n%s\n", name, validAppStates())
			return nil, failed
		}
		wanted = append(wanted, allAppStates[i])
	}
	if len(wanted) == 0 {
		wanted = []pb.YarnApplicationState{
			pb.YarnApplicationState_SUBMITTED, pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING,
		}
	}
	slices.Sort(wanted)
	return slices.Compact(wanted), nil
}

var appColumns = []int{30, 20, 20, 10, 10, 18, 18, 15, 35}

func (s *session) appList(l *option.Line) error {
	states, err := s.appStates(l.Values("appStates"))
	if err != nil {
		return err
	}
	var types []string
	for _, t := range option.Words(l.Values("appTypes")) {
		types = append(types, strings.ToUpper(t))
	}
	types = javafmt.Set(types)
	tags := javafmt.Set(option.Words(l.Values("appTags")))
	var stateNames []string
	for _, st := range states {
		stateNames = append(stateNames, st.String())
	}
	if s.json {
		q := url.Values{"states": {strings.Join(stateNames, ",")}}
		if len(types) > 0 {
			q.Set("applicationTypes", strings.Join(types, ","))
		}
		if len(tags) > 0 {
			q.Set("applicationTags", strings.Join(tags, ","))
		}
		return s.printREST(api+"/apps", q)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.GetApplicationsRequest{}
	req.SetApplicationTypes(types)
	req.SetApplicationStates(states)
	req.SetApplicationTags(lower(tags))
	resp, err := cluster.Call(s, c, protocol.GetApplications, req)
	if err != nil {
		return err
	}
	s.print("Total number of applications (application-types: %s, states: %s and tags: %s):%d\n",
		list(types), list(stateNames), list(tags), len(resp.GetApplications()))
	s.write(javafmt.Row(appColumns, "Application-Id", "Application-Name", "Application-Type", "User", "Queue",
		"State", "Final-State", "Progress", "Tracking-URL"))
	for _, a := range resp.GetApplications() {
		s.write(javafmt.Row(appColumns,
			records.ApplicationIDFrom(a.GetApplicationId()).String(), a.GetName(), a.GetApplicationType(), a.GetUser(),
			a.GetQueue(), a.GetYarnApplicationState().String(), records.FinalStatusName(a.GetFinalApplicationStatus()),
			javafmt.Percent(a.GetProgress()), orNull(a.HasOriginalTrackingUrl(), a.GetOriginalTrackingUrl())))
	}
	return nil
}

// lower returns tags in lower case, as YARN stores them.
func lower(tags []string) []string {
	out := make([]string, len(tags))
	for i, t := range tags {
		out[i] = strings.ToLower(t)
	}
	return out
}

// list writes words as Java writes a set.
func list(words []string) string { return "[" + strings.Join(words, ", ") + "]" }

// orNull writes a missing value as Java does.
func orNull(there bool, text string) string {
	if !there {
		return "null"
	}
	return text
}

// appReport asks for an application. If it doesn't exist, it prints YARN's message.
func (s *session) appReport(text, where string) (*pb.ApplicationReport, error) {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return nil, err
	}
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	req := &pb.GetApplicationReportRequest{}
	req.SetApplicationId(id.PB())
	resp, err := cluster.Call(s, c, protocol.GetApplicationReport, req)
	if ipc.IsClass(err, ipc.ApplicationNotFound) {
		s.print("Application with id '%s' doesn't exist in %s.\n", text, where)
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	return resp.GetApplicationReport(), nil
}

func (s *session) appStatus(text string) error {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return err
	}
	if s.json {
		return s.appStatusJSON(id, text)
	}
	a, err := s.appReport(text, "RM or Timeline Server")
	if err != nil {
		return err
	}
	s.print("Application Report : \n")
	field(s, "Application-Id", records.ApplicationIDFrom(a.GetApplicationId()).String())
	field(s, "Application-Name", a.GetName())
	field(s, "Application-Type", a.GetApplicationType())
	field(s, "User", a.GetUser())
	field(s, "Queue", a.GetQueue())
	field(s, "Application Priority", orNull(a.HasPriority(), fmt.Sprint(a.GetPriority().GetPriority())))
	field(s, "Start-Time", fmt.Sprint(a.GetStartTime()))
	field(s, "Finish-Time", fmt.Sprint(a.GetFinishTime()))
	field(s, "Progress", javafmt.Percent(a.GetProgress()))
	field(s, "State", a.GetYarnApplicationState().String())
	field(s, "Final-State", records.FinalStatusName(a.GetFinalApplicationStatus()))
	field(s, "Tracking-URL", orNull(a.HasOriginalTrackingUrl(), a.GetOriginalTrackingUrl()))
	field(s, "RPC Port", fmt.Sprint(a.GetRpcPort()))
	field(s, "AM Host", orNull(a.HasHost(), a.GetHost()))
	s.appUsage(a)
	status := javafmt.NotAvailable
	if a.HasLogAggregationStatus() {
		status = records.LogAggregationName(a.GetLogAggregationStatus())
	}
	field(s, "Log Aggregation Status", status)
	paragraph(s, "Diagnostics", orNull(a.HasDiagnostics(), a.GetDiagnostics()))
	field(s, "Unmanaged Application", fmt.Sprint(a.GetUnmanagedApplication()))
	field(s, "Application Node Label Expression", orNull(a.HasAppNodeLabelExpression(), a.GetAppNodeLabelExpression()))
	field(s, "AM container Node Label Expression", orNull(a.HasAmNodeLabelExpression(), a.GetAmNodeLabelExpression()))
	for _, t := range a.GetAppTimeouts() {
		timeout := t.GetApplicationTimeout()
		s.print("\tTimeoutType : %s\tExpiryTime : %s\tRemainingTime : %dseconds\n",
			strings.TrimPrefix(timeout.GetApplicationTimeoutType().String(), "APP_TIMEOUT_"),
			timeout.GetExpireTime(), timeout.GetRemainingTime())
	}
	if a.HasRmClusterId() {
		field(s, "RMClusterId", a.GetRmClusterId())
	}
	s.print("\n")
	return nil
}

// appStatusJSON prints an application as the REST API shows it.
func (s *session) appStatusJSON(id records.ApplicationID, text string) error {
	err := s.printREST(appPath(id), nil)
	if isNotFound(err) {
		fmt.Fprintf(s.err, "Application with id '%s' doesn't exist in RM or Timeline Server.\n", text)
		return failed
	}
	return err
}

// appUsage prints what an application has used so far, and how much of that was preempted.
func (s *session) appUsage(a *pb.ApplicationReport) {
	if !a.HasAppResource_Usage() {
		s.print("\tAggregate Resource Allocation : N/A\n\tAggregate Resource Preempted : N/A\n")
		return
	}
	u := a.GetAppResource_Usage()
	s.print("\tAggregate Resource Allocation : %s\n", s.seconds(u.GetMemorySeconds(), u.GetVcoreSeconds(), u.GetApplicationResourceUsageMap()))
	s.print("\tAggregate Resource Preempted : %s\n",
		s.seconds(u.GetPreemptedMemorySeconds(), u.GetPreemptedVcoreSeconds(), u.GetApplicationPreemptedResourceUsageMap()))
}

// seconds writes amounts of resources times seconds. As in Hadoop, memory and vcores come from fields of their own.
// Types in the configuration appear even if the ResourceManager hasn't mentioned them.
func (s *session) seconds(memory, vcores int64, all []*pb.StringLongMap) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d MB-seconds, %d vcore-seconds", memory, vcores)
	amounts := map[string]int64{}
	for _, m := range all {
		amounts[m.GetKey()] = m.GetValue()
	}
	delete(amounts, records.MemoryName)
	delete(amounts, records.VCoresName)
	if types, err := s.conf.ResourceTypes(); err == nil {
		for i := 2; i < types.Len(); i++ {
			t := types.At(i)
			fmt.Fprintf(&b, ", %d %s-%sseconds", amounts[t.Name], t.Name, t.Units)
			delete(amounts, t.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		fmt.Fprintf(&b, ", %d %s-seconds", amounts[name], name)
	}
	return b.String()
}
