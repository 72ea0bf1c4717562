import './first.ts'

import { mount } from 'svelte'

import './api/outside.ts'
import App from './App.svelte'
import './style/page.css'
import './style/tables.css'
import './style/controls.css'
import './style/text.css'
import './style/runs.css'
import './style/playground.css'
import './style/settings.css'

const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no #app')
target.replaceChildren() // removes the text for a page whose script does not run
mount(App, { target })
