// Package nodeattributes is the command heddle nodeattributes. It has the options, tables, messages and exit codes of yarn nodeattributes.
package nodeattributes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/conf"
	"heddle/internal/plain"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// Config holds what the command needs of the program.
type Config struct {
	Group string // in the help
	// Load loads the configuration of a folder, with some settings in the form of key=value. "" stands for the default folder.
	Load func(dir string, settings []string) (*conf.Config, error)
	// Failed ends the command with the status -1, after its message is printed.
	Failed error
}

// New makes the command.
func New(cfg Config) *cobra.Command {
	c := &cobra.Command{
		Use: "nodeattributes", Short: "List and change attributes of nodes", GroupID: cfg.Group,
		DisableFlagParsing: true, // options with one dash
		RunE: func(cmd *cobra.Command, args []string) error {
			s := &session{Context: cmd.Context(), Config: cfg, out: cmd.OutOrStdout(), err: plain.Writer{W: cmd.ErrOrStderr()}}
			return s.run(args)
		},
	}
	c.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), usage(true, admin, client)) })
	return c
}

// session is one run of the command.
type session struct {
	context.Context
	Config
	out, err io.Writer
	cluster  *cluster.Cluster
}

func (s *session) run(args []string) error {
	if len(args) == 0 {
		return s.fail("", false, admin, client)
	}
	if bare := strings.TrimPrefix(args[0], "-"); bare == "-help" || bare == "help" || bare == "h" {
		return s.help(args[1:])
	}
	line, err := options().Parse(args)
	var missing *option.MissingArgumentError
	switch {
	case errors.As(err, &missing):
		return s.fail("Missing argument for command", true, admin, client)
	case err != nil:
		return s.fail("Invalid Command Usage : ", false, admin, client)
	}
	c, err := s.Load(line.Value("conf"), line.Values("D"))
	if err != nil {
		return err
	}
	if s.cluster, err = cluster.New(c); err != nil {
		return err
	}
	defer s.cluster.Close()
	for _, name := range []string{"add", "remove", "replace"} {
		if line.Has(name) {
			return s.change(name, line)
		}
	}
	switch {
	case line.Has("failOnUnknownNodes"):
		return s.fail(description("failOnUnknownNodes"), true, admin)
	case line.Has("list"):
		return s.list()
	case line.Has("nodestoattributes"):
		return s.nodesToAttributes(line.Values("nodes"))
	case line.Has("attributestonodes"):
		return s.attributesToNodes(line.Values("attributes"))
	case line.Has("nodes"), line.Has("attributes"):
		return nil
	}
	return s.fail("Invalid Command Usage : ", false, admin, client)
}

// fail prints what is wrong, and how to use some of the options.
func (s *session) fail(why string, describe bool, sections ...section) error {
	if why != "" {
		fmt.Fprintln(s.err, why)
	}
	fmt.Fprintln(s.err, usage(describe, sections...))
	return s.Failed
}

func (s *session) help(args []string) error {
	if len(args) == 1 {
		if text := usageOf(args[0]); text != "" {
			fmt.Fprintln(s.err, text)
			return nil
		}
	}
	fmt.Fprintln(s.err, usage(true, admin, client))
	return nil
}

// refused prints a server's exception as Hadoop's command does, and passes other errors on.
func (s *session) refused(err error) error {
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) {
		return err
	}
	fmt.Fprintf(s.err, "%s: %s\n", remote.Class, remote.Message())
	return s.Failed
}

func (s *session) change(operation string, line *option.Line) error {
	mappings, err := Parse(line.Value(operation), operation)
	if err != nil {
		return s.fail(err.Error(), true, admin)
	}
	req := &pb.NodesToAttributesMappingRequest{}
	req.SetOperation(map[string]pb.AttributeMappingOperationType{
		"add": pb.AttributeMappingOperationType_ADD, "remove": pb.AttributeMappingOperationType_REMOVE, "replace": pb.AttributeMappingOperationType_REPLACE,
	}[operation])
	req.SetFailOnUnknownNodes(line.Has("failOnUnknownNodes"))
	var all []*pb.NodeToAttributes
	for _, m := range mappings {
		all = append(all, m.message())
	}
	req.SetNodeToAttributes(all)
	_, err = cluster.Admin(s, s.cluster, protocol.MapAttributesToNodes, req)
	return s.refused(err)
}

func (m *Mapping) message() *pb.NodeToAttributes {
	out := &pb.NodeToAttributes{}
	out.SetNode(m.Host)
	var all []*pb.NodeAttribute
	for _, a := range m.Attributes {
		one := &pb.NodeAttribute{}
		one.SetAttributeKey(key("rm.yarn.io", a.Name))
		one.SetAttributeType(pb.NodeAttributeType_STRING)
		one.SetAttributeValue(a.Value)
		all = append(all, one)
	}
	out.SetNodeAttributes(all)
	return out
}

func key(prefix, name string) *pb.NodeAttributeKey {
	k := &pb.NodeAttributeKey{}
	k.SetAttributePrefix(prefix)
	k.SetAttributeName(name)
	return k
}

func nameOf(k *pb.NodeAttributeKey) string {
	return plain.Cell(k.GetAttributePrefix() + "/" + k.GetAttributeName())
}

func (s *session) list() error {
	resp, err := cluster.Call(s, s.cluster, protocol.GetClusterNodeAttributes, &pb.GetClusterNodeAttributesRequest{})
	if err != nil {
		return s.refused(err)
	}
	fmt.Fprintf(s.out, "%40s\t%15s\n", "Attribute", "Type")
	for _, a := range resp.GetNodeAttributes() {
		fmt.Fprintf(s.out, "%40s\t%15s\n", nameOf(a.GetAttributeKey()), a.GetAttributeType())
	}
	fmt.Fprintln(s.out)
	return nil
}

func (s *session) nodesToAttributes(hosts []string) error {
	req := &pb.GetNodesToAttributesRequest{}
	req.SetHostnames(hosts)
	resp, err := cluster.Call(s, s.cluster, protocol.GetNodesToAttributes, req)
	if err != nil {
		return s.refused(err)
	}
	const row = "%40s\t%10s\t%20s\n"
	fmt.Fprintf(s.out, row, "Attribute", "Type", "Value")
	for _, n := range resp.GetNodesToAttributes() {
		fmt.Fprintln(s.out, plain.Cell(n.GetNode())+":")
		for _, a := range n.GetNodeAttributes() {
			fmt.Fprintf(s.out, row, nameOf(a.GetAttributeKey()), a.GetAttributeType(), plain.Cell(a.GetAttributeValue()))
		}
	}
	fmt.Fprintln(s.out)
	return nil
}

func (s *session) attributesToNodes(names []string) error {
	req := &pb.GetAttributesToNodesRequest{}
	var wanted []*pb.NodeAttributeKey
	for _, name := range names {
		switch parts := split(name, "/"); len(parts) {
		case 1:
			wanted = append(wanted, key("rm.yarn.io", parts[0]))
		case 2:
			wanted = append(wanted, key(parts[0], parts[1]))
		default:
			return s.fail(" Attribute format not correct. Should be <[prefix]/[name]> :"+name, true, client)
		}
	}
	req.SetNodeAttributes(wanted)
	resp, err := cluster.Call(s, s.cluster, protocol.GetAttributesToNodes, req)
	if err != nil {
		return s.refused(err)
	}
	const row = "%40s\t%15s\n"
	fmt.Fprintf(s.out, row, "Hostname", "Attribute-value")
	for _, a := range resp.GetAttributesToNodes() {
		fmt.Fprintln(s.out, nameOf(a.GetNodeAttribute())+" :")
		for _, n := range a.GetNodeValueMap() {
			fmt.Fprintf(s.out, row, plain.Cell(n.GetHostname()), plain.Cell(n.GetAttributeValue()))
		}
	}
	fmt.Fprintln(s.out)
	return nil
}
