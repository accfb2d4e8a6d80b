package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// readsItsOwn removes the list of flags that cobra knows from a command's help: the command reads its options itself, and its text lists them.
func readsItsOwn(c *cobra.Command) *cobra.Command {
	c.DisableFlagParsing = true
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		fmt.Fprintf(c.OutOrStdout(), "Usage: %s %s\n\n%s\n", c.Parent().CommandPath(), c.Use, c.Long)
		if c.HasExample() {
			fmt.Fprintf(c.OutOrStdout(), "\nExamples:\n%s\n", c.Example)
		}
	})
	return c
}
