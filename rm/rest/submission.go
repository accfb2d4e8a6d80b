package rest

import (
	"encoding/base64"
	"net/url"
	"strconv"

	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/token"
)

// submission is the body of a request to run an application (Hadoop: ApplicationSubmissionContextInfo).
type submission struct {
	ID             string          `yarn:"application-id"`
	Name           string          `yarn:"application-name"`
	Queue          *string         `yarn:"queue"`
	Priority       int32           `yarn:"priority"`
	AM             launchContext   `yarn:"am-container-spec"`
	Unmanaged      bool            `yarn:"unmanaged-AM"`
	CancelTokens   bool            `yarn:"cancel-tokens-when-complete"`
	MaxAttempts    int32           `yarn:"max-app-attempts"`
	Resource       givenResource   `yarn:"resource"`
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

type launchContext struct {
	Resources   givenMap[localResource] `yarn:"local-resources"`
	Environment givenMap[string]        `yarn:"environment"`
	Commands    givenCommands           `yarn:"commands"`
	ServiceData givenMap[string]        `yarn:"service-data"`
	Credentials givenCredentials        `yarn:"credentials"`
	ACLs        givenMap[string]        `yarn:"application-acls"`
}

// givenMap is a map in the form of YARN's bodies: entries of key and value.
type givenMap[V any] struct {
	Entry []givenEntry[V] `yarn:"entry"`
}

type givenEntry[V any] struct {
	Key   string `yarn:"key"`
	Value V      `yarn:"value"`
}

type givenCommands struct {
	Command []string `yarn:"command"`
}

type givenTags struct {
	Tag []string `yarn:"tag"`
}

type localResource struct {
	Resource   string `yarn:"resource"`
	Type       string `yarn:"type"`
	Visibility string `yarn:"visibility"`
	Size       int64  `yarn:"size"`
	Timestamp  int64  `yarn:"timestamp"`
	Pattern    string `yarn:"pattern"`
}

type givenCredentials struct {
	Tokens  givenMap[string] `yarn:"tokens"`
	Secrets givenMap[string] `yarn:"secrets"`
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

// newSubmission returns the defaults of members that a body leaves out.
func newSubmission() submission {
	return submission{Priority: -1, FailureWindow: -1, CancelTokens: true}
}

// context converts a submission to the message that RPC clients send. Its errors are of type *yarnrest.Error.
func (s *server) context(g *submission) (*pb.ApplicationSubmissionContext, error) {
	id, err := records.ParseApplicationID(g.ID)
	if err != nil {
		return nil, yarnrest.BadRequest("Could not parse application id %s", g.ID)
	}
	size, err := s.amountOf(g.Resource)
	if err != nil {
		return nil, err
	}
	if err := s.checkSize(size); err != nil {
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
	ctx.SetResource(s.Types.PB(size))
	if g.Type != "" {
		ctx.SetApplicationType(g.Type)
	}
	ctx.SetKeepContainersAcrossApplicationAttempts(g.KeepContainers)
	ctx.SetApplicationTags(g.Tags.Tag)
	ctx.SetAttemptFailuresValidityInterval(g.FailureWindow)
	// Hadoop always sets it, and shows it because of that
	ctx.SetNodeLabelExpression(g.Label)
	ctx.SetAmContainerResourceRequest([]*pb.ResourceRequest{s.amRequest(size, g.AMLabel)})
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

// checkSize has the wording of Hadoop's RMWebServices and of its scheduler.
func (s *server) checkSize(size records.Resource) error {
	switch {
	case size.MemoryMB() > s.MaxAllocation.MemoryMB():
		return yarnrest.BadRequest("Requested more memory than configured max")
	case size.VCores() > s.MaxAllocation.VCores():
		return yarnrest.BadRequest("Requested more cores than configured max")
	}
	for i := range s.Types.Len() {
		if size[i] < 0 {
			return yarnrest.BadRequest("Invalid resource request! Cannot allocate containers as requested resource is less than 0! "+
				"Requested resource type=[%s], Requested resource=%s", s.Types.At(i).Name, s.Types.Format(size))
		}
	}
	return nil
}

func (s *server) amRequest(size records.Resource, label string) *pb.ResourceRequest {
	r := &pb.ResourceRequest{}
	zero := &pb.Priority{}
	zero.SetPriority(0)
	r.SetPriority(zero)
	r.SetResourceName("*")
	r.SetCapability(s.Types.PB(size))
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

func containerSpec(g *launchContext) (*pb.ContainerLaunchContext, error) {
	spec := &pb.ContainerLaunchContext{}
	spec.SetCommand(g.Commands.Command)
	var env []*pb.StringStringMap
	for _, e := range g.Environment.Entry {
		kv := &pb.StringStringMap{}
		kv.SetKey(e.Key)
		kv.SetValue(e.Value)
		env = append(env, kv)
	}
	spec.SetEnvironment(env)
	var data []*pb.StringBytesMap
	for _, e := range g.ServiceData.Entry {
		b, err := decodeBase64(e.Value)
		if err != nil {
			return nil, yarnrest.BadRequest("The service data of %s is no Base64: %v", e.Key, err)
		}
		kv := &pb.StringBytesMap{}
		kv.SetKey(e.Key)
		kv.SetValue(b)
		data = append(data, kv)
	}
	spec.SetServiceData(data)
	var acls []*pb.ApplicationACLMap
	for _, e := range g.ACLs.Entry {
		kind, ok := pb.ApplicationAccessType_value["APPACCESS_"+e.Key]
		if !ok {
			continue // Hadoop ignores it too
		}
		m := &pb.ApplicationACLMap{}
		m.SetAccessType(pb.ApplicationAccessType(kind))
		m.SetAcl(e.Value)
		acls = append(acls, m)
	}
	spec.SetApplication_ACLs(acls)
	resources, err := localResources(g.Resources.Entry)
	if err != nil {
		return nil, err
	}
	spec.SetLocalResources(resources)
	tokens, err := credentials(&g.Credentials)
	if err != nil {
		return nil, err
	}
	spec.SetTokens(tokens)
	return spec, nil
}

func localResources(given []givenEntry[localResource]) (out []*pb.StringLocalResourceMap, err error) {
	for _, e := range given {
		at, err := resourceURL(e.Value.Resource)
		if err != nil {
			return nil, yarnrest.BadRequest("The local resource %s has no usable resource %q, which must be a URL such as "+
				"hdfs://host:8020/file: %v", e.Key, e.Value.Resource, err)
		}
		kind, known := pb.LocalResourceType_value[e.Value.Type]
		if !known {
			return nil, yarnrest.BadRequest("Null resource type for local resource %s : the type %q must be one of ARCHIVE, FILE, PATTERN",
				e.Key, e.Value.Type)
		}
		visibility, known := pb.LocalResourceVisibility_value[e.Value.Visibility]
		if !known {
			return nil, yarnrest.BadRequest("Null resource visibility for local resource %s : the visibility %q must be one of "+
				"PUBLIC, PRIVATE, APPLICATION", e.Key, e.Value.Visibility)
		}
		r := &pb.LocalResource{}
		r.SetResource(at)
		r.SetSize(e.Value.Size)
		r.SetTimestamp(e.Value.Timestamp)
		r.SetType(pb.LocalResourceType(kind))
		r.SetVisibility(pb.LocalResourceVisibility(visibility))
		if e.Value.Pattern != "" {
			r.SetPattern(e.Value.Pattern)
		}
		m := &pb.StringLocalResourceMap{}
		m.SetKey(e.Key)
		m.SetValue(r)
		out = append(out, m)
	}
	return out, nil
}

// resourceURL splits a URL as YARN's messages do. A fragment belongs to the file.
func resourceURL(text string) (*pb.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if u.Path == "" {
		return nil, strconv.ErrSyntax
	}
	out := &pb.URL{}
	if u.Scheme != "" {
		out.SetScheme(u.Scheme)
	}
	if u.Hostname() != "" {
		out.SetHost(u.Hostname())
	}
	out.SetPort(-1)
	if p := u.Port(); p != "" {
		port, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return nil, err
		}
		out.SetPort(int32(port))
	}
	out.SetFile(u.Path)
	if u.User != nil {
		out.SetUserInfo(u.User.String())
	}
	return out, nil
}

// credentials returns the bytes of ContainerLaunchContext.tokens; nil without credentials.
func credentials(g *givenCredentials) ([]byte, error) {
	if len(g.Tokens.Entry)+len(g.Secrets.Entry) == 0 {
		return nil, nil
	}
	var c token.Credentials
	for _, e := range g.Tokens.Entry {
		t, err := token.ParseURLString(e.Value)
		if err != nil {
			return nil, yarnrest.BadRequest("Could not parse credentials data; exception message = token %s: %v", e.Key, err)
		}
		c.SetToken(e.Key, t)
	}
	for _, e := range g.Secrets.Entry {
		b, err := decodeBase64(e.Value)
		if err != nil {
			return nil, yarnrest.BadRequest("Could not parse credentials data; exception message = secret %s: %v", e.Key, err)
		}
		c.SetSecret(e.Key, b)
	}
	b, err := c.Encode(token.FormatWritable)
	if err != nil {
		return nil, yarnrest.BadRequest("Could not parse credentials data; exception message = %v", err)
	}
	return b, nil
}

// decodeBase64 accepts both alphabets, with or without padding.
func decodeBase64(s string) ([]byte, error) {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; c {
		case '-':
			b = append(b, '+')
		case '_':
			b = append(b, '/')
		case '=', '\r', '\n', ' ', '\t':
		default:
			b = append(b, c)
		}
	}
	return base64.RawStdEncoding.DecodeString(string(b))
}
