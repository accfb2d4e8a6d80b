package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/switching"
	"heddle/cmd/heddle/internal/verdict"
	"heddle/cmd/internal/program"
	"heddle/conf"
)

// checked are the daemons that heddle conf check knows.
var checked = map[string]conf.Role{"rm": conf.ResourceManager, "nm": conf.NodeManager, "witness": conf.Witness}

func newConfCheck(s *source) *cobra.Command {
	var asJSON bool
	var role, id, cluster string
	c := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Validate a configuration folder without starting anything",
		Long: "Decides as the daemons do when they start. Lists errors, with which a daemon would refuse to start, and which one;\n" +
			"suspicious settings; and settings of YARN that Heddle doesn't implement. Exits with 1 if there are errors.\n\n" +
			"Without --role it looks at ResourceManagers and NodeManagers. What is wrong only for the user who runs the check, or for\n" +
			"this machine, is a warning then. With --role it is an error, if it is one for that daemon: run it as the daemon's user.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := s.options()
			if len(args) == 1 {
				o.Dir = args[0]
			}
			roles, known := checked[role]
			if role == "" {
				roles, known = verdict.Daemons, true
			}
			if !known {
				return fmt.Errorf("--role %q: want rm, nm or witness", role)
			}
			c, _, report := verdict.Of(o, roles, id)
			if cluster != "" {
				found, err := switching.Problems(cmd.Context(), c, cluster)
				if err != nil {
					return fmt.Errorf("--cluster %s: %w", cluster, err)
				}
				report.Add(found, nil)
			}
			if role == "" {
				verdict.ForAny(&report)
			}
			write := report.WriteText
			if asJSON {
				write = report.WriteJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return err
			}
			if !report.OK() {
				return program.Exit(1)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	c.Flags().StringVar(&role, "role", "", "decide for this daemon, started here by this user: rm, nm or witness")
	c.Flags().StringVar(&cluster, "cluster", "", "compare with the nodes of a running ResourceManager, by the address of its web port; on its machine also with the addresses that they call from")
	c.Flags().StringVar(&id, "id", "", "id of the ResourceManager among yarn.resourcemanager.ha.rm-ids")
	return c
}
