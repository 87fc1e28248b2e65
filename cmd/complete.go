package cmd

import (
	"strings"

	"github.com/spf13/cobra"
)

// completeList completes the last word of a flag's list, such as "james,ora".
func completeList(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var all []string
		for _, w := range words {
			if strings.HasPrefix(before+w, typed) && !strings.Contains(","+before, ","+w+",") {
				all = append(all, before+w)
			}
		}
		return all, cobra.ShellCompDirectiveDefault
	}
}

// completeSchema completes the name of a model or variant, or a file.
func completeSchema(known registry) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return starting(known.modelNames(), typed), cobra.ShellCompDirectiveDefault
	}
}

// completeOne completes the first argument with one of the words.
func completeOne(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return starting(words, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// starting returns the words that begin like what was typed.
func starting(words []string, typed string) (found []string) {
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			found = append(found, w)
		}
	}
	return found
}
