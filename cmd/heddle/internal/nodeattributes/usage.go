package nodeattributes

import (
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/option"
)

// section is a part of the usage.
type section struct {
	title   string
	options []option.Option
}

const (
	mappings = `"node1:attribute[(type)][=value],attribute1[=value],attribute2  node2:attribute2[=value],attribute3"`
	ofNodes  = "Works with [list] to specify node hostnames whose mappings are required to be displayed."
)

// The descriptions are those of Hadoop's command, so that its users find what they know.
var admin = section{"Admin Commands:", []option.Option{
	{Name: "replace", Arg: mappings, Help: "Replace the node to attributes mapping information at the ResourceManager with the new mapping. Currently supported attribute type. And string is the default type too. Attribute value if not specified for string type value will be considered as empty string. Replaced node-attributes should not violate the existing attribute to attribute type mapping."},
	{Name: "add", Arg: mappings, Help: "Adds or updates the node to attributes mapping information at the ResourceManager. Currently supported attribute type is string. And string is the default type too. Attribute value if not specified for string type value will be considered as empty string. Added or updated node-attributes should not violate the existing attribute to attribute type mapping."},
	{Name: "remove", Arg: `"node1:attribute,attribute1 node2:attribute2"`, Help: "Removes the specified node to attributes mapping information at the ResourceManager"},
	{Name: "failOnUnknownNodes", Help: "Can be used optionally along with [add,remove,replace] options. When set, command will fail if specified nodes are unknown."},
}}

var client = section{"Client Commands:", []option.Option{
	{Name: "list", Help: "List all attributes in cluster"},
	{Name: "nodestoattributes", Help: "Lists all mapping to nodes to attributes"},
	{Name: "nodes", Arg: "Host Names", Values: option.Unlimited, Separator: ',', Help: ofNodes},
	{Name: "attributestonodes", Help: "Displays mapping of attributes to nodes and attribute values grouped by attributes"},
	{Name: "attributes", Arg: "Attributes", Values: option.Unlimited, Separator: ',', Help: "Works with [attributestonodes] to specify attributes whose mapping are required to be displayed."},
}}

func options() *option.Set {
	set := option.NewSet(append(slices.Clone(admin.options), client.options...)...)
	set.Add(
		option.Option{Name: "conf", Arg: "Folder", Hidden: true},
		option.Option{Name: "D", Long: "define", Arg: "Key=Value", Hidden: true},
	)
	return set
}

func description(name string) string {
	for _, o := range append(slices.Clone(admin.options), client.options...) {
		if o.Name == name {
			return o.Help
		}
	}
	return ""
}

const head = "Usage: yarn nodeattributes "

// usage lists some of the options, with their descriptions if describe is set.
func usage(describe bool, sections ...section) string {
	var b strings.Builder
	b.WriteString(head)
	for _, s := range sections {
		b.WriteString("\n\n" + s.title)
		for _, o := range s.options {
			describeOption(&b, o, describe)
		}
	}
	b.WriteString("\n -help [cmd] List help of commands")
	return b.String()
}

// usageOf is the usage of one option; empty if there is none of that name.
func usageOf(name string) string {
	for _, o := range append(slices.Clone(admin.options), client.options...) {
		if o.Name == strings.TrimLeft(name, "-") {
			var b strings.Builder
			b.WriteString(head)
			describeOption(&b, o, true)
			return b.String()
		}
	}
	return ""
}

func describeOption(b *strings.Builder, o option.Option, describe bool) {
	b.WriteString("\n -" + o.Name)
	if o.Arg != "" {
		b.WriteString(" <" + o.Arg + ">")
	}
	if describe {
		b.WriteString("\n\t" + o.Help)
	}
}
