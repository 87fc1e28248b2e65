package workloads

import "slices"

// Paths are the keys that --set may change, except those of engines and models: KEY= for each key, and
// KEY=VALUE if the language lists the values. A key inside a list, such as that of one
// stream of several, has no path.
func (w *Workload) Paths() []string {
	var all []string
	for _, k := range sectionKeys("workload") {
		if k.form != formPhases {
			all = append(all, k.paths("")...)
			continue
		}
		for i := range w.Phases {
			p := &w.Phases[i]
			kind := p.Kind
			if kind == Warmup {
				kind = Measure // it has the same keys
			}
			for _, k := range sectionKeys(kind.String()) {
				all = append(all, k.paths("phases."+p.Name+".")...)
			}
		}
	}
	return all
}

func sectionKeys(name string) []key {
	i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
	return sections[i].keys
}

// paths are the paths of the key and of all keys below it. Prefix is the path of its section.
func (k *key) paths(prefix string) []string {
	name := prefix + k.name
	var below []key
	var words []string
	switch k.form {
	case formVersion, formName, formEngines, formStreams, formSession, formPhases, formExpect, formSweep, formModels,
		formAnswer:
		return nil
	case formMail:
		below = sectionKeys("mail")
	case formAttachments:
		below = sectionKeys("attachments")
	case formPopulation:
		below = sectionKeys("population")
	case formKeys:
		below = sectionKeys("keys")
	case formReplay:
		below = sectionKeys("replay")
	case formTrials:
		below = sectionKeys("trials")
	case formMix:
		for _, op := range opNames {
			below = append(below, key{name: op, form: formWeight})
		}
	case formTruth:
		words = []string{"true", "false"}
	case formArrivals:
		words = []string{"constant", "poisson"}
	case formMissing:
		words = []string{"skip", "replace-rate"}
	case formChoice:
		words = []string{"uniform", "zipf", "latest", "largest"}
	}
	all := []string{name + "="}
	if len(below) > 0 {
		all = nil
	}
	for i := range below {
		all = append(all, below[i].paths(name+".")...)
	}
	for _, word := range words {
		all = append(all, name+"="+word)
	}
	return all
}
